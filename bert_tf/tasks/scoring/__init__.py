"""What scores are made of: counts of labels, probabilities, values, entities and calibration."""
