"""Where a person who types sentences is: how they are translated, and what the last one became."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rich.console import RenderableType

from weft.control.asking import PLAIN, Asking
from weft.control.request import Request
from weft.engine.translation import Translation
from weft.engine.translator import Translator


@dataclass(frozen=True)
class State:
    """settings: of how the model is used, as --set gives them; the search of the translator may be another by now.
    asking: what is asked of every sentence. asked: what was asked of the last one, choice after choice; the translation
    is that of the last of them. over: the person has gone.
    """

    translator: Translator
    settings: tuple[str, ...] = ()
    asking: Asking = PLAIN
    asked: tuple[Request, ...] = ()
    translation: Translation | None = None
    over: bool = False


class Answer(NamedTuple):
    """What a line comes to: something to show, and the state after it."""

    shown: RenderableType
    state: State
