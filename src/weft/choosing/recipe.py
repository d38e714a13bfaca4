"""The chosen recipe as plain data, as a YAML file with its reasons, and as lines for a person."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from weft.choosing.rules import Choice
from weft.config.document import Plain, inline

COLUMNS = 100
INDENT = 20


def as_document(choices: Iterable[Choice]) -> dict[str, Plain]:
    """What a YAML file would hold."""
    return {
        section: {choice.place.partition(".")[2]: choice.value for choice in chosen}
        for section, chosen in groupby(choices, key=lambda choice: choice.place.partition(".")[0])
    }


def as_yaml(document: dict[str, Plain], choices: Iterable[Choice], title: str) -> str:
    """A file to edit: the document, each setting that was chosen under the reason for it."""
    reasons = {choice.place: choice.reason for choice in choices}
    lines = [f"# {title}"]
    for section, settings in document.items():
        if not isinstance(settings, dict):
            lines.append(f"{section}: {inline(settings)}")
            continue
        lines.append(f"{section}:")
        for name, value in settings.items():
            reason = reasons.get(f"{section}.{name}")
            lines += [f"  # {reason}"] if reason else []
            lines.append(f"  {name}: {inline(value)}")
    return "\n".join(lines) + "\n"


def as_lines(choices: Sequence[Choice], heading: str = "chosen from the data and the time:") -> str:
    """What was chosen and why, to be read in a terminal."""
    after = " " * (INDENT + 2)
    told = [
        textwrap.fill(choice.reason, COLUMNS, initial_indent=f"  {choice.place:<{INDENT}}", subsequent_indent=after)
        for choice in choices
        if choice.reason
    ]
    return "\n".join([heading, *told])
