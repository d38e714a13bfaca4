"""One page about a training run: what its folder says, what its best model does, and what is seen inside.

known.py reads the folder, gathering.py lets the model speak, page.py writes. Nothing in the run folder is changed.
"""
