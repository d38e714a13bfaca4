"""The backend interface, batches of similar length, and the selection between torch and CTranslate2, which is used
only where its output equals torch's. Must not import torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from weft.checkpoints.model_folder import ModelFolder, load_shortlist, read_model_folder
from weft.core.codec import Codec, LineError
from weft.core.errors import UserError
from weft.core.formatting import pluralize
from weft.core.lazy import Lazy
from weft.decoding.constraints.request import Request
from weft.inference.capabilities import (
    CTranslate2Precision,
    closest_ctranslate2_search,
    ctranslate2_differences,
    unsupported_by_ctranslate2,
)
from weft.inference.translation import Translation
from weft.text.sentences import SentenceSplitter
from weft.text.tokenizer import Tokenizer

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

BackendName: TypeAlias = Literal["auto", "torch", "ctranslate2"]


class StreamError(UserError):
    """A line of a stream cannot be translated, for this reason; `number` is its index, from 0."""

    def __init__(self, number: int, reason: str):
        super().__init__(f"line {number + 1}: {reason}")
        self.number, self.reason = number, reason


class Backend(Protocol):
    """A model ready to translate: one translation per line, in order; a line does not depend on the others. Requests
    have neither spans nor several sentences: `TextTranslator` (text_translator.py) handles these.

    torch (translator.py) supports every model and request; CTranslate2 (ctranslate2_backend.py) some models, without
    constraints. concurrency: how many threads should call it at the same time.
    """

    @property
    def source_codec(self) -> Codec: ...

    @property
    def target_tokenizer(self) -> Tokenizer: ...

    @property
    def concurrency(self) -> int: ...

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """Translate lines as they are read; memory does not grow with their number."""

    def max_source_length(self) -> int:
        """The most source tokens that it reads."""

    def sentence_splitter(self, language: str | None) -> SentenceSplitter | None:
        """Return the splitter for this language (None: the model's own); None if lines are not to be split."""

    def unbuffered(self) -> Backend:
        """The same backend, which answers a line before it reads the next."""


def process_windows(
    items: Iterable[ItemT], size: int, process: Callable[[list[ItemT], int], Iterable[ResultT]]
) -> Iterator[ResultT]:
    """Process `size` items at a time, given with the number of the first; report the number of a line with an error."""
    remaining, done = iter(items), 0
    while window := list(islice(remaining, size)):
        try:
            yield from process(window, done)
        except LineError as error:
            raise StreamError(done + error.row, str(error)) from error
        done += len(window)


def batch_by_length(numbers: Iterable[int], rows: Sequence[Sized], max_tokens: int) -> Iterator[list[int]]:
    """Yield batches of row numbers, longest row first: one row, or at most `max_tokens` with EOS and padding."""
    batch: list[int] = []
    for number in sorted(numbers, key=lambda number: -len(rows[number])):
        if batch and (len(rows[batch[0]]) + 1) * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


class BackendOptions(NamedTuple):
    """A request for a backend. torch_requirements: reasons why only torch will do. device: as the user named it."""

    backend: BackendName
    precision: CTranslate2Precision | None
    beam: int | None
    torch_requirements: tuple[str, ...]
    shortlist: bool = False
    device: str = "auto"


class SelectedBackend(NamedTuple):
    """A backend, and why it was selected."""

    backend: Backend
    reason: str


def select_backend(path: Path, options: BackendOptions, load_torch: Callable[[], Backend]) -> SelectedBackend:
    """The requested backend; with "auto", CTranslate2 (in float32 by default) wherever it finds torch's outputs."""
    if options.backend == "torch":
        if options.precision is not None:
            raise UserError(f"--precision {options.precision} needs ctranslate2: omit it, or --backend torch")
        return SelectedBackend(load_torch(), "torch: requested")
    model = read_model_folder(path)
    reasons = reasons_against_ctranslate2(model, options)
    if not reasons:
        return make_ctranslate2_backend(model, options, load_torch)
    listed = "\n".join(f"  {reason}" for reason in reasons)
    if options.backend == "ctranslate2" or options.precision is not None:
        ctranslate2 = options.backend == "ctranslate2"
        option = "--backend ctranslate2" if ctranslate2 else f"--precision {options.precision}"
        raise UserError(f"{option}: CTranslate2 would not find the same outputs:\n{listed}")
    return SelectedBackend(load_torch(), f"torch, since CTranslate2 would not find the same outputs:\n{listed}")


def reasons_against_ctranslate2(model: ModelFolder, options: BackendOptions) -> list[str]:
    """All reasons why CTranslate2 cannot be used: machine, device, options, model and search."""
    return [
        *_machine_reasons(options),
        *options.torch_requirements,
        *unsupported_by_ctranslate2(model),
        *ctranslate2_differences(model.config["translate"], options.beam),
    ]


def _machine_reasons(options: BackendOptions) -> Iterator[str]:
    if find_spec("ctranslate2") is None:
        yield "the package ctranslate2 is not installed (pip install 'weft[fast]')"
        gpus = 0
    else:
        import ctranslate2

        gpus = ctranslate2.get_cuda_device_count()
        if options.precision not in {None, *ctranslate2.get_supported_compute_types("cpu")}:
            yield f"this processor does not compute in {options.precision}"
    if options.device not in ("auto", "cpu"):
        yield f"--device {options.device} is requested"
    elif gpus and (options.backend, options.precision, options.device) == ("auto", None, "auto"):
        import torch  # takes seconds, so only if there is a GPU

        if torch.cuda.is_available():
            yield "there is a GPU, which torch uses"


def make_ctranslate2_backend(
    model: ModelFolder, options: BackendOptions, load_torch: Callable[[], Backend]
) -> SelectedBackend:
    from weft.inference.ctranslate2_backend import CTranslate2Backend, open_ctranslate2, worker_count

    fallback, precision, workers = Lazy(load_torch), options.precision or "float32", worker_count()
    shortlist = load_shortlist(model.path) if options.shortlist or model.uses_shortlist else None
    backend = CTranslate2Backend(
        model,
        closest_ctranslate2_search(model.config["translate"], options.beam),
        Lazy(lambda: open_ctranslate2(model, precision, workers, shortlist)),
        lambda lines: list(fallback().stream(lines)),
        model.config["translate"]["buffer_size"],
        workers,
        shortlist,
    )
    with_shortlist = "" if shortlist is None else ", with a shortlist"
    return SelectedBackend(backend, f"ctranslate2, {precision}, {pluralize(workers, 'worker')}{with_shortlist}")
