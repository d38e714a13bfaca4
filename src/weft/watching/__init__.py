"""Runs seen from outside, while they train: their logs are followed, and nothing of theirs is touched."""
