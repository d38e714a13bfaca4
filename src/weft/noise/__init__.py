"""Misspellings for training: from right words to pairs of a wrong and the right spelling."""
