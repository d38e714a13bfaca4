"""Looking for bad data before training, and writing a cleaned copy."""
