"""Tokenizer files made of nothing but what a `Learner` puts there.

The library reads far more than that: patterns that take hours, padding to any length, random splits, ids with gaps. A
file from elsewhere could have any of it, so each part is compared with what is known before the library sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.text.pieces import RUNS, SYMBOLS, WORDS

NOTHING = ("truncation", "padding", "post_processor")  # which a learned tokenizer has not
NORMALIZERS = frozenset({"NFC", "NFKC", "Lowercase", "Prepend"})
DECODERS = frozenset({"ByteFallback", "Fuse", "Strip"})


def unknown_part(described: Any) -> str | None:
    """The first part that no learner makes, in words; None if all are known."""
    match described:
        case {"model": {"type": str(), "vocab": _}}:
            checks = {
                **{name: described.get(name) is None for name in NOTHING},
                "normalizer": _is_row(described.get("normalizer"), "normalizers", NORMALIZERS),
                "pre_tokenizer": _is_split(described.get("pre_tokenizer")),
                "decoder": _is_row(described.get("decoder"), "decoders", DECODERS),
                "model.dropout": described["model"].get("dropout") is None,
                "model.vocab": _is_numbered(described["model"]),
                "model.unk_token": _knows_unknown(described["model"]),
            }
            return next((name for name, good in checks.items() if not good), None)
    return "model"


def _is_row(node: Any, name: str, known: frozenset[str]) -> bool:
    if not isinstance(node, dict) or node.get("type") != "Sequence":
        return node is None
    parts = node.get(name)
    return isinstance(parts, list) and all(_is_known(part, known) for part in parts)


def _is_known(part: Any, known: frozenset[str]) -> bool:
    match part:
        case {"type": str(kind)}:
            return kind in known
    return False


def _is_split(node: Any) -> bool:
    match node:
        case None:
            return True
        case {"type": "Split", "pattern": {"Regex": str(pattern)}}:
            return pattern in (RUNS, WORDS, SYMBOLS)
    return False


def _is_numbered(model: dict[str, Any]) -> bool:
    """Has every piece a number of its own, from 0 on without gaps?"""
    match model:
        case {"type": "Unigram", "vocab": list(pieces), "unk_id": int(unknown)}:
            return _are_scored(pieces) and 0 <= unknown < len(pieces)
        case {"type": "BPE" | "WordLevel" | "WordPiece", "vocab": dict(vocab)}:
            numbers = list(vocab.values())
            return all(type(number) is int for number in numbers) and sorted(numbers) == list(range(len(numbers)))
    return False


def _knows_unknown(model: dict[str, Any]) -> bool:
    """Is the piece for what was never seen among the pieces? Of byte pairs, bytes may stand there instead."""
    match model:
        case {"type": "Unigram"}:
            return True  # which has a number for it
        case {"type": "BPE", "unk_token": None}:
            return True
        case {"unk_token": str(piece)}:
            return piece in model["vocab"]
    return False


def _are_scored(pieces: Sequence[Any]) -> bool:
    """Unigram's pieces, each once and with its score."""
    named = [piece[0] for piece in pieces if isinstance(piece, list) and len(piece) == 2 and isinstance(piece[0], str)]
    return len(set(named)) == len(pieces)
