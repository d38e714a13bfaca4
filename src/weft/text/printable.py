"""Text that can be shown anywhere."""

from unicodedata import category


def printable(text: str) -> str:
    """Without control characters and halves of letters: no font has a picture of them, a terminal may obey them."""
    return "".join("\ufffd" if category(letter) in ("Cc", "Cs") else letter for letter in text)
