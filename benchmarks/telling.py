"""How far a benchmark has come, while it runs."""

import sys


def tell(text: str) -> None:
    """On standard error, so that standard output has the figures alone."""
    print(text, file=sys.stderr, flush=True)
