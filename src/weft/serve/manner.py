"""How lines are to be translated, and what is to be told of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Manner:
    """Lines of the same manner can be translated together.

    beam, best: as the model was configured, if None. details: whether pieces, their scores and the confidence are told.
    alignment, attention, likeliest: as in engine/wanted.py.
    """

    beam: int | None = None
    best: int | None = None
    details: bool = False
    alignment: bool = False
    attention: bool = False
    likeliest: int = 0


TEXT_ALONE = Manner()
