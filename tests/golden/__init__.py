"""Golden numbers: what the code computes from fixed seeds, recorded so that a rename changes no number."""
