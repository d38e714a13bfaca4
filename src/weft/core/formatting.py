"""Formatting of values in messages: durations, counts, printable text, quoted values, did-you-mean suggestions."""

import difflib
import json
from collections.abc import Iterable, Sequence
from unicodedata import category

MAX_QUOTED_LENGTH = 60  # characters


def format_minutes(number: float) -> str:
    """Return "1 minute", "2.5 minutes"."""
    return f"{number:g} minute" if number == 1 else f"{number:g} minutes"


def format_duration(seconds: float) -> str:
    """Return "1:02:03", or "2:03" below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def pluralize(number: int, noun: str) -> str:
    """Return "1 line", "2,000 lines"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def first_few(numbers: Sequence[int]) -> str:
    """Return the first ten numbers, and dots if there are more."""
    return ", ".join(map(str, numbers[:10])) + (" ..." if len(numbers) > 10 else "")


def make_printable(text: str) -> str:
    """Replace control characters, which a terminal may obey, and lone surrogates, which no font can show."""
    return "".join("\ufffd" if category(letter) in ("Cc", "Cs") else letter for letter in text)


def escape_unprintable(text: str) -> str:
    """Write characters that cannot be printed, and bytes that are not UTF-8, as escapes."""
    return "".join(letter if letter.isprintable() else _escape_character(letter) for letter in text)


def _escape_character(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # a byte that is not UTF-8, as Python decodes it with surrogateescape
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode()


def quote(value: bool | int | float | str | None) -> str:
    """Return the value as it would be written in a file, shortened, with unprintable characters escaped."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_QUOTED_LENGTH else f"{text[:MAX_QUOTED_LENGTH]}..."


def quote_all(values: Iterable[bool | int | float | str | None]) -> str:
    return ", ".join(quote(value) for value in values)


def close_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the name that is most similar to `name`, if one is close."""
    return difflib.get_close_matches(name[:MAX_QUOTED_LENGTH], list(names), 1)


def did_you_mean(name: str, names: Iterable[object]) -> str:
    """Return `; did you mean "layers"?` if one of the names is close, else an empty string."""
    close = close_names(name, map(str, names))
    return f"; did you mean {quote(close[0])}?" if close else ""
