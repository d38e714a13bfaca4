"""The models of a server: loading with batch queues, lookup by name or language pair, reloading without downtime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from weft.checkpoints.model_folder import folder_fingerprint, read_model_folder
from weft.core.errors import UserError
from weft.data.language_detection import DetectedLanguage, LanguageDetector
from weft.data.languages import LanguagePair
from weft.decoding.constraints.request import Request
from weft.inference.backends import BackendOptions, select_backend
from weft.inference.line_sentences import SplitLine, split_line
from weft.inference.text_translator import TextTranslator
from weft.inference.translation import Translation
from weft.serve.batch_queue import TEXT_ONLY, BatchObserver, BatchQueue, DecodeOptions, PrefixCallback, TranslationJob
from weft.serve.example_sentences import example_sentences, validation_sentences
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits
from weft.serve.middleware import ServerMetrics
from weft.serve.model_copy import ModelCopy, remove_stale_copies
from weft.serve.torch_backend import InspectionTask, InspectionWorker, TorchBackend

if TYPE_CHECKING:
    from weft.inference.translator import Translator

WARMUP_LINE = "1"  # translated by every model before it serves requests
MAX_RETRY_SECONDS = 60.0  # longest pause between attempts to load a changed model folder
LOGGER = logging.getLogger("weft.serve")


class LoadedModel:
    """The model in a run folder or model folder, in memory. Raise UserError if it cannot be loaded.

    Requests for text alone go to the fastest backend, all others to torch, which may be the fastest itself.
    `backend_reason` names the fastest backend, and why it was chosen.
    """

    def __init__(self, path: Path, options: BackendOptions, limits: ServerLimits, observe: BatchObserver):
        self._copy = ModelCopy(path)
        folder, self.fingerprint = self._copy.folder, self._copy.fingerprint
        self.validation_sentences = validation_sentences(folder)

        def load_with_torch() -> Translator:
            from weft.inference.loader import load_translator

            return load_translator(folder, device=options.device, beam=options.beam)

        try:
            self._torch = TorchBackend(load_with_torch, options.beam)
            fastest, self.backend_reason = select_backend(folder, options, self._torch.translator)
            is_torch = self._torch.is_loaded  # the warm-up may load torch as well
            if fastest.source_codec.modality == "image":
                raise UserError(f"{path}: this model reads images, and only text can be served")
            list(fastest.stream([WARMUP_LINE]))
            settings = read_model_folder(folder).config["translate"]
            sampling = bool(settings["search"]["type"] == "sampling" or settings["mbr"]["samples"])
        except BaseException:
            self._copy.remove()
            raise

        self.text_translator = TextTranslator(fastest, self._torch.translator)

        def translate_text(_options: object, requests: Sequence[Request], _on_prefix: object) -> list[Translation]:
            return list(self.text_translator.stream(requests))

        self._torch_queue = BatchQueue(self._torch, limits, 1, sampling, observe)
        self._text_queue = self._torch_queue
        if not is_torch:
            self._text_queue = BatchQueue(translate_text, limits, fastest.concurrency, sampling, observe)
        self.inspections = InspectionWorker(self._torch.translator_for, limits)

    def put(self, job: TranslationJob) -> None:
        is_text_only = job.options == TEXT_ONLY and job.on_prefix is None
        is_plain = is_text_only and all(request.is_plain for request in job.requests)
        (self._text_queue if is_plain else self._torch_queue).put(job)

    @property
    def waiting(self) -> int:
        return sum(queue.waiting for queue in {self._text_queue, self._torch_queue})

    def close(self) -> None:
        """Finish what was accepted, then release everything."""
        for queue in {self._text_queue, self._torch_queue}:
            queue.close()
        self.inspections.close()
        self._torch.close()
        self._copy.remove()


class ServedModel:
    """A model under its name. Requests go to whatever is loaded at the moment."""

    def __init__(
        self,
        name: str,
        path: Path,
        pair: LanguagePair,
        options: BackendOptions,
        limits: ServerLimits,
        metrics: ServerMetrics,
    ):
        self.name, self.path, self.pair = name, path, pair
        self._options, self._limits, self._metrics = options, limits, metrics
        self._reloading = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._loaded = self._load()
        metrics.queue.labels(name).set_function(lambda: self.waiting)

    @property
    def backend(self) -> str:
        """The backend that returns text, with its precision."""
        return self._loaded.backend_reason.split("\n")[0].rstrip(":")

    @property
    def fingerprint(self) -> str:
        return self._loaded.fingerprint

    @property
    def examples(self) -> Sequence[str]:
        """Sentences to try the model with."""
        return [*self._loaded.validation_sentences, *example_sentences(self.pair.source)]

    @property
    def waiting(self) -> int:
        return self._loaded.waiting

    def put(
        self,
        requests: Sequence[Request],
        options: DecodeOptions,
        on_prefix: PrefixCallback | None = None,
        line_numbers: Sequence[int] | None = None,
    ) -> TranslationJob:
        """Accept these sentences. Raise ApiError if too many wait already."""
        job = TranslationJob(requests, options, on_prefix, line_numbers)
        self._loaded.put(job)
        self._metrics.characters.labels(self.name).inc(sum(len(request.text) for request in requests))
        return job

    async def finish(self, job: TranslationJob) -> list[Translation]:
        """Return the translations. Raise ApiError if that takes too long."""
        try:
            return await job.wait(self._limits.timeout)
        except TimeoutError:
            message = f"The translation took longer than {self._limits.timeout} seconds. Send less at once."
            raise ApiError(504, message) from None

    def split(self, request: Request) -> SplitLine:
        """Find the sentences of a line, unless the model was trained on whole lines."""
        translator = self._loaded.text_translator
        return split_line(request, translator.sentence_splitter(self.pair.source), translator.default_kinds)

    def keep_whole(self, request: Request) -> SplitLine:
        """Return a line as one sentence."""
        return split_line(request, None, self._loaded.text_translator.default_kinds)

    async def translate(self, lines: Sequence[SplitLine], options: DecodeOptions) -> list[Translation]:
        """Translate lines; all their sentences are in one job."""
        sentences = [(number, request) for number, line in enumerate(lines) for request in line.requests]
        numbers = [number for number, _ in sentences]
        job = self.put([request for _, request in sentences], options, line_numbers=numbers)
        translated = iter(await self.finish(job))
        return [line.join([next(translated) for _ in line.sentences]) for line in lines]

    async def inspect(self, task: InspectionTask, options: DecodeOptions) -> str:
        return await self._loaded.inspections.run(task, options)

    async def reload(self) -> None:
        """Load the model again. If that works, it replaces the old one, which finishes its jobs."""
        async with self._reloading:
            try:
                new = await asyncio.to_thread(self._load)
            except Exception:
                self._metrics.reloads.labels(self.name, "failed").inc()
                raise
            old, self._loaded = self._loaded, new
            self._metrics.reloads.labels(self.name, "done").inc()
            task = asyncio.create_task(asyncio.to_thread(old.close))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def changed_fingerprint(self) -> str | None:
        """Return the fingerprint of the folder if it holds another model than the one loaded."""
        try:
            fingerprint = await asyncio.to_thread(folder_fingerprint, self.path)
        except (UserError, OSError):
            return None  # it may be incomplete for now
        return fingerprint if fingerprint != self.fingerprint else None

    async def close(self) -> None:
        """Finish what was accepted."""
        async with self._reloading:
            await asyncio.gather(*self._closing, asyncio.to_thread(self._loaded.close))

    def _load(self) -> LoadedModel:
        observe = self._metrics.batches.labels(self.name).observe
        return LoadedModel(self.path, self._options, self._limits, observe)


class ModelPool:
    """All models of a server, in the order of the command line."""

    def __init__(self, models: Sequence[ServedModel]):
        self.all = tuple(models)
        self.detector = LanguageDetector(self.languages)

    @property
    def pairs(self) -> list[LanguagePair]:
        return list(dict.fromkeys(model.pair for model in self.all))

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(pair.source for pair in self.pairs))

    @property
    def languages(self) -> list[str]:
        return list(dict.fromkeys(code for pair in self.pairs for code in pair))

    def targets_of(self, source: str) -> list[str]:
        return [pair.target for pair in self.pairs if pair.source == source]

    def sources_of(self, target: str) -> list[str]:
        """Return the languages that can be translated into `target`. Raise ApiError if there are none."""
        sources = [pair.source for pair in self.pairs if pair.target == target]
        if not sources:
            raise ApiError(400, f"{target} is not supported")
        return sources

    def detect_source(self, text: str, target: str) -> DetectedLanguage:
        """Return the language of a text that can be translated into `target`: the first one if nothing tells."""
        sources = self.sources_of(target)
        unknown = DetectedLanguage(0.0, sources[0])  # a text in another script, or without letters
        return next((found for found in self.detector(text) if found.language in sources), unknown)

    def find_by_pair(self, pair: LanguagePair) -> ServedModel:
        """Return the first model for this language pair. Raise ApiError if there is none."""
        for code in pair:
            if code not in self.languages:
                raise ApiError(400, f"{code} is not supported")
        for model in self.all:
            if model.pair == pair:
                return model
        raise ApiError(400, f"{pair.target} is not available as a target language from {pair.source}")

    def find(self, name: str | None) -> ServedModel:
        """Return the model with this name; the first model for None. Raise ApiError if there is none."""
        for model in self.all:
            if name in (None, model.name):
                return model
        raise ApiError(404, f"There is no model {name!r}. The models are {', '.join(model.name for model in self.all)}")

    async def watch(self, seconds: float) -> None:
        """Check the model folders every `seconds` for other models, and load them."""
        await asyncio.gather(*(self._watch(model, seconds) for model in self.all))

    async def _watch(self, model: ServedModel, seconds: float) -> None:
        """Retry a model that cannot be loaded, since it may still be copied: with growing pauses, reported once."""
        pause, failed = seconds, ""
        while True:
            await asyncio.sleep(pause)
            fingerprint = await model.changed_fingerprint()
            is_retry = fingerprint == failed
            if fingerprint is None or await self._reload(model, logging.DEBUG if is_retry else logging.WARNING) is None:
                pause, failed = seconds, ""
            else:
                pause, failed = min(2 * pause, MAX_RETRY_SECONDS) if is_retry else seconds, fingerprint

    async def reload(self, models: Iterable[ServedModel]) -> dict[str, str | None]:
        """Reload models. Return why each could not be loaded, or None."""
        return {model.name: await self._reload(model, logging.WARNING) for model in models}

    async def _reload(self, model: ServedModel, failure_level: int) -> str | None:
        try:
            await model.reload()
        except UserError as error:
            LOGGER.log(failure_level, "%s: keeping the loaded model: %s", model.name, error)
            return str(error)
        except Exception as error:  # whatever went wrong, the loaded model continues
            LOGGER.log(failure_level, "%s: keeping the loaded model", model.name, exc_info=error)
            return "internal server error"
        LOGGER.info("%s: reloaded", model.name)
        return None

    async def close(self) -> None:
        await asyncio.gather(*(model.close() for model in self.all))


def load_model_pool(
    paths: Sequence[Path],
    pairs: Sequence[LanguagePair],
    options: BackendOptions,
    limits: ServerLimits,
    metrics: ServerMetrics,
) -> ModelPool:
    """Load the models in these folders. If one cannot be loaded, close all and raise UserError."""
    remove_stale_copies()
    models: list[ServedModel] = []
    try:
        for name, path, pair in zip(model_names(paths), paths, pairs, strict=True):
            models.append(ServedModel(name, path, pair, options, limits, metrics))
    except BaseException:
        asyncio.run(ModelPool(models).close())
        raise
    pool = ModelPool(models)
    pool.detector.load()  # before the first request
    return pool


def model_names(paths: Sequence[Path]) -> list[str]:
    """Name models by their folders (best and last by the run folder). A name that is taken gets a number."""
    names: list[str] = []
    for path in paths:
        full = path.resolve()
        name = full.parent.name if full.name in ("best", "last") else full.name
        candidates = chain([name], (f"{name}-{number}" for number in count(2)))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names
