"""A small fast model from a trained one: what the teacher says is written down, learned, and measured beside it."""
