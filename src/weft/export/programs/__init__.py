"""Programs of exported folders, as model.py and translate.py there: they know nothing of Weft, and need no torch."""
