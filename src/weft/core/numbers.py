"""Numbers as a person says them."""


def spoken_minutes(number: float) -> str:
    """1 minute, 2.5 minutes."""
    return f"{number:g} minute" if number == 1 else f"{number:g} minutes"


def clock(seconds: float) -> str:
    """1:02:03, or 2:03 below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
