"""One entry per dataset: reader, labels, metrics, prediction files."""
