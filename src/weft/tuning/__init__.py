"""A trained model that learns new data: what it begins with, its recipe, and what it gains there and loses at home."""
