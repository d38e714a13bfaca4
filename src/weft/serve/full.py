"""The torch engine of a model that is served: it can do all that a request may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translation import Translation
from weft.serve.manner import Manner
from weft.serve.order import Tell

if TYPE_CHECKING:
    from weft.engine.translator import Translator

MANNERS = 32  # whose searches are kept ready


class Full:
    """load: makes the engine, when it is first needed, since torch takes seconds and memory. beam: if nobody asks."""

    def __init__(self, load: Callable[[], Translator], beam: int | None):
        self._load, self._beam = load, beam
        self._loaded: Translator | None = None
        self._lock = Lock()
        self.ready = lru_cache(MANNERS)(self._made)

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def translator(self) -> Translator:
        """As the model was configured."""
        with self._lock:
            self._loaded = self._loaded or self._load()
            return self._loaded

    def close(self) -> None:
        """Let go of the model: what keeps the searches ready would keep it too, and itself."""
        self._loaded = None
        self.ready.cache_clear()

    def __call__(self, manner: Manner, requests: Sequence[Request], tell: Tell | None) -> list[Translation]:
        translator = self.ready(manner)
        return list((translator if tell is None else telling(translator, tell)).stream(requests))

    def _made(self, manner: Manner) -> Translator:
        from weft.engine.load import widened
        from weft.engine.wanted import Wanted, check_wanted

        translator = self._there()
        for wanted in (Wanted(alignment=manner.alignment), Wanted(attention=manner.attention)):
            check_wanted(translator.trained, wanted, "alignment" if wanted.alignment else "attention")
        if manner.beam is not None or manner.best is not None:
            translator = widened(translator, manner.beam or self._wide(manner.best), manner.best)
        return replace(translator, wanted=Wanted(manner.alignment, manner.attention, manner.likeliest))

    def _there(self) -> Translator:
        """Whoever asks for a line can do nothing about a model that is lost, and need not know where it was."""
        try:
            return self.translator()
        except UserError as error:
            raise RuntimeError(f"the model cannot be loaded: {error}") from error

    def _wide(self, best: int | None) -> int | None:
        """As wide as is usual, and for as many alternatives as are asked for."""
        return None if self._beam is None else max(self._beam, best or 1)


def telling(translator: Translator, tell: Tell) -> Translator:
    """One that tells of the pieces as it writes them; what is read from frames has no such beginning."""
    from weft.engine.live import Telling

    tokenizer = translator.trained.target_tokenizer

    def told(tokens: list[int]) -> None:
        tell(list(tokenizer.ordered(tokenizer.pieces(tokens))), tokenizer.decode([tokens])[0])

    return replace(translator, search=Telling(translator.search, told))
