"""Translations as lines of text or JSON."""

import json
from collections.abc import Sequence
from math import isfinite

from weft.engine.paragraphs import TranslatedLine
from weft.engine.translation import Alternative, Translation
from weft.text.alignment import numbered


def as_line(translation: Translation, *, as_json: bool) -> str:
    return (json.dumps(as_record(translation), ensure_ascii=False) if as_json else translation.text) + "\n"


def as_paragraph(line: TranslatedLine, *, as_json: bool) -> str:
    return (json.dumps(as_paragraph_record(line), ensure_ascii=False) if as_json else line.text) + "\n"


def as_record(translation: Translation) -> dict[str, object]:
    """What --json prints for a line; what was not wanted, or cannot be told, is left out."""
    record: dict[str, object] = {
        "source": translation.source,
        "text": translation.text,
        "score": finite(translation.score),
        "cut": translation.cut,
        "alternatives": [as_alternative(one) for one in translation.alternatives],
    }
    if translation.checked:
        record["asked"] = [one._asdict() for one in translation.checked]
    if translation.protected:
        record["protected"] = [one._asdict() for one in translation.protected]
    if translation.confidence is not None:
        record["confidence"] = translation.confidence
    if translation.links is not None:
        record["alignment"] = pairs_of(translation)
    if translation.looked is not None:
        record["attention"] = translation.looked._asdict()
    if translation.likeliest:
        record["likeliest"] = [
            [{"piece": one.piece, "score": finite(one.score)} for one in choices] for choices in translation.likeliest
        ]
    return record


def as_alternative(one: Alternative) -> dict[str, object]:
    return {
        **one._asdict(),
        "score": finite(one.score),
        "ranked_by": None if one.ranked_by is None else finite(one.ranked_by),
    }


def as_paragraph_record(line: TranslatedLine) -> dict[str, object]:
    """What --json prints for a line of any number of sentences."""
    return {"source": line.source, "text": line.text, "sentences": [as_record(one) for one in line.sentences]}


def pairs_of(translation: Translation) -> Sequence[tuple[int, int]]:
    """The numbers of the words that belong together, counted from 0: (source, translation)."""
    return numbered(translation.links or (), translation.source, translation.text)


def finite(score: float) -> float | None:
    """JSON has no infinity: the score of an output that cannot be is null."""
    return score if isfinite(score) else None
