"""What a search makes of some lines, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.decoding.choices import SEARCHES

from weft.core.errors import UserError
from weft.inference.loader import load_translator
from weft.inference.translator import Translator


class Found(NamedTuple):
    """An output for each line, and the log-probability that the model gives it, whatever it was chosen by."""

    texts: Sequence[str]
    scores: Sequence[float]
    seconds: float  # of all lines


def find(run: Path, search: str, sources: Sequence[str]) -> Found:
    """All the lines at once, as `weft translate` would have them; without the time to load the model."""
    translator = ready(run, search, sources[0])
    began = time.perf_counter()
    translations = translator.translate(sources)
    seconds = time.perf_counter() - began
    return Found([one.text for one in translations], [one.score for one in translations], seconds)


def ready(run: Path, search: str, line: str) -> Translator:
    """One that has translated this line: so what cannot be is told, and nothing is slow for being the first."""
    try:
        translator = load_translator(run, overrides=SEARCHES[search])
        translator.translate([line])
    except UserError as error:
        raise UserError(f"{run}: {search}: {error} (--searches chooses others)") from error
    return translator
