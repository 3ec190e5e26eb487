"""Builds the same TFRecords as a pipeline of Apache Beam."""
