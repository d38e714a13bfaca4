"""The torch backend of a served model: loaded on first use, cached per decode options; a thread for inspections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translation import Translation
from weft.serve.batch_queue import DecodeOptions, PrefixCallback
from weft.serve.http_errors import ApiError, conflict_error
from weft.serve.limits import ServerLimits

if TYPE_CHECKING:
    from weft.inference.translator import Translator

MAX_CACHED_OPTIONS = 32

InspectionTask: TypeAlias = "Callable[[Translator], str]"  # returns JSON


class TorchBackend:
    """Supports every request. Loads on first use, since torch takes seconds. `beam`: the default; None: the model's."""

    def __init__(self, load: Callable[[], Translator], beam: int | None):
        self._load, self._beam = load, beam
        self._loaded: Translator | None = None
        self._lock = Lock()
        self.translator_for = lru_cache(MAX_CACHED_OPTIONS)(self._make_translator)

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def translator(self) -> Translator:
        """Return the translator with the model's own settings."""
        with self._lock:
            self._loaded = self._loaded or self._load()
            return self._loaded

    def close(self) -> None:
        """Release the model: the cache refers to it, and to this object."""
        self._loaded = None
        self.translator_for.cache_clear()

    def __call__(
        self, options: DecodeOptions, requests: Sequence[Request], on_prefix: PrefixCallback | None
    ) -> list[Translation]:
        translator = self.translator_for(options)
        if on_prefix is not None:  # report partial outputs of the search (but none of a frame decoder)
            from weft.inference.step_functions import StreamingSearch

            tokenizer = translator.trained.target_tokenizer

            def report(ids: list[int]) -> None:
                on_prefix(list(tokenizer.reorder(tokenizer.tokens(ids))), tokenizer.decode([ids])[0])

            translator = replace(translator, search=StreamingSearch(translator.search, report))
        if on_prefix is not None:  # partial outputs have no spans
            return list(translator.stream(requests))
        return list(translator.for_text(split=False).stream(requests))

    def _make_translator(self, options: DecodeOptions) -> Translator:
        from weft.inference.capabilities import check_output_options
        from weft.inference.loader import override_translator_search
        from weft.inference.postprocessor import OutputOptions

        try:
            translator = self.translator()
        except UserError as error:  # the client can do nothing about it, and must not see the server's paths
            raise RuntimeError(f"the model cannot be loaded: {error}") from error
        for outputs in (OutputOptions(alignment=options.alignment), OutputOptions(attention=options.attention)):
            check_output_options(translator.trained, outputs, "alignment" if outputs.alignment else "attention")
        beam = options.beam
        if beam is None and options.n_best is not None and self._beam is not None:
            beam = max(self._beam, options.n_best)
        if beam is not None or options.n_best is not None:
            translator = override_translator_search(translator, beam, options.n_best)
        outputs = OutputOptions(options.alignment, options.attention, options.top_tokens)
        return replace(translator, output_options=outputs)


class InspectionWorker:
    """Runs inspections of a model one at a time, next to its translations."""

    def __init__(self, translator_for: Callable[[DecodeOptions], Translator], limits: ServerLimits):
        self._translator_for, self._limits = translator_for, limits
        self._pool = ThreadPoolExecutor(1, "weft-inspect")
        self._pending = 0

    async def run(self, task: InspectionTask, options: DecodeOptions) -> str:
        """Return what the task returns. A task whose client disconnects is dropped unless it has started.

        Raise ApiError if too many wait, if it takes too long, or if the model does not support the inspection.
        """
        if self._pending >= self._limits.inspections:
            raise ApiError(429, "Too many requests: others inspect this model. Try again in a moment.")
        self._pending += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(lambda: task(self._translator_for(options)))
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._finish))
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            message = f"The inspection took longer than {self._limits.timeout} seconds. Use a shorter line."
            raise ApiError(504, message) from None
        except UserError as error:
            raise conflict_error(str(error).removeprefix("line 1: ")) from None

    def _finish(self) -> None:
        self._pending -= 1

    def close(self) -> None:
        """Wait for the inspections that were accepted."""
        self._pool.shutdown()
