"""Numbers as a person says them."""


def spoken_minutes(number: float) -> str:
    """1 minute, 2.5 minutes."""
    return f"{number:g} minute" if number == 1 else f"{number:g} minutes"
