"""What goes wrong in a run, told as soon as it shows: what was seen, the likely cause, the setting to change.

A file a diagnosis. Each looks at what is in the run's log already, so a run that goes on finds what it would have found
anyway, and tells it once. Thresholds are wide: what an ordinary run does for a while is nothing to be told.
"""
