"""A recipe for data that has none: looks at the files and at the machine, and tells the reason for each choice."""
