"""Runs derived from a trained model, by fine-tuning or distillation. Each stage resumes where it was stopped.

Their folder is a run folder that is prepared before the run starts. KIND is finetuning or distillation:

KIND.json         the request; of fine-tuning also the scores of the model before
recipe.yaml       the recipe with its reasons
initial_model/    what the run starts from, laid out as a run folder: best/, and checkpoints/ with the optimizer state
pairs/            the teacher's translations; new and original pairs that no file contains by themselves
KIND_scores.json  the comparison at the end
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from torch import Tensor

from weft.checkpoints.checkpoint import Checkpoint, save_checkpoint
from weft.checkpoints.file_formats import read_json_as
from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.core.files import new_folder, path_lock, write_atomically
from weft.core.hardware import select_device
from weft.models.model import Slot
from weft.training.distributed import RankGroup
from weft.training.progress import ProgressDisplay
from weft.training.run_folder import RECIPE_FILE, RunFolder
from weft.training.trainer import RunOutcome
from weft.training.training_run import resume_training, run_training

TextPair: TypeAlias = tuple[str, str]
PairFields: TypeAlias = tuple[str, str]  # the keys of a pair in a .jsonl


@dataclass(frozen=True)
class FinetuningOptions:
    """Options of fine-tuning. mix: original pairs per new pair. extend: at most this many new tokens (None: unknown
    letters and words only).
    """

    mix: float = 0.0
    freeze: tuple[Slot, ...] = ()
    extend: int | None = None
    keep_optimizer: bool = False
    settings: tuple[str, ...] = ()
    minutes: float | None = None


@dataclass(frozen=True)
class FinetuningRequest:
    """What a user requested. Only the same request resumes; the fingerprints are of the model and the new files."""

    model: str
    model_fingerprint: str
    files: tuple[str, ...]
    data_fingerprint: str
    options: FinetuningOptions


@dataclass(frozen=True)
class FinetuningRecord:
    """before: the scores of the model before fine-tuning, by corpus."""

    request: FinetuningRequest
    before: dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class DistillationRequest:
    """What a user requested. Only the same request resumes; the fingerprints are of the teacher and its lines."""

    teacher: str
    teacher_fingerprint: str
    source: tuple[str, ...]
    source_fingerprint: str
    settings: tuple[str, ...]
    minutes: float | None


@dataclass(frozen=True)
class DerivedRunFolder(RunFolder):
    kind: ClassVar[str]

    @property
    def request_file(self) -> Path:
        return self.path / f"{self.kind}.json"

    @property
    def scores_file(self) -> Path:
        return self.path / f"{self.kind}_scores.json"

    @property
    def recipe_file(self) -> Path:
        return self.path / RECIPE_FILE

    @property
    def initial_model(self) -> Path:
        return self.path / "initial_model"

    @property
    def pairs_folder(self) -> Path:
        return self.path / "pairs"

    def pairs(self, name: str) -> Path:
        return self.pairs_folder / f"{name}.jsonl"

    def is_prepared(self) -> bool:
        return self.request_file.is_file()

    def prepare(
        self,
        request: FinetuningRecord | DistillationRequest,
        recipe_yaml: str,
        initial: TrainedModel,
        optimizer_state: Mapping[str, Tensor],
        pairs: Mapping[str, Iterable[TextPair]],
        fields: PairFields,
    ) -> None:
        """Create the folder; the request comes last, since it marks a prepared folder."""
        with new_folder(self.path) as path:
            new, start = replace(self, path=path), RunFolder(path / self.initial_model.name)
            start.path.mkdir(exist_ok=True)
            save_model(start.best, initial, model_weights(initial.model))
            if optimizer_state:
                save_checkpoint(start.checkpoints, 0, Checkpoint({"optimizer": optimizer_state}, {}))
            new.pairs_folder.mkdir(exist_ok=True)
            for name, rows in pairs.items():
                write_pairs(new.pairs(name), rows, fields)
            write_atomically(new.recipe_file, recipe_yaml.encode())
            write_atomically(new.request_file, to_json_bytes(asdict(request)))

    def _check_unchanged(self, values: Iterable[tuple[str, object, object]]) -> None:
        """Raise UserError at the first (description, value before, value now) that differs."""
        for description, before, now in values:
            if before != now:
                raise UserError(
                    f"{self.path} was started {description}. To resume it, give the command that started it "
                    f"(it is in {self.request_file}); for a new one, give another --out."
                )


class FinetuningFolder(DerivedRunFolder):
    kind = "finetuning"

    def record(self) -> FinetuningRecord:
        return read_json_as(self.request_file, FinetuningRecord)

    def check_same(self, request: FinetuningRequest) -> None:
        """Raise UserError if the folder was prepared for another request."""
        before = self.record().request
        old, new = before.options, request.options
        keep = f"{'with' if old.keep_optimizer else 'without'} --keep-optimizer"
        self._check_unchanged(
            [
                ("with another model", before.model_fingerprint, request.model_fingerprint),
                ("with other files", before.files, request.files),
                ("with the same files before they were changed", before.data_fingerprint, request.data_fingerprint),
                ("with another --mix", old.mix, new.mix),
                ("with another --freeze", old.freeze, new.freeze),
                ("with another --extend-vocabulary", old.extend, new.extend),
                (keep, old.keep_optimizer, new.keep_optimizer),
                ("with other settings", old.settings, new.settings),
                ("with other --minutes", old.minutes, new.minutes),
            ]
        )


class StudentFolder(DerivedRunFolder):
    kind = "distillation"

    def request(self) -> DistillationRequest:
        if not self.is_prepared():
            raise UserError(
                f"{self.path} is not the folder of a student: it has no {self.request_file.name}. Give the --out of "
                "weft distill."
            )
        return read_json_as(self.request_file, DistillationRequest)

    def check_same(self, request: DistillationRequest) -> None:
        """Raise UserError if the folder was prepared for another request."""
        before, changed = self.request(), "with other lines to translate: the files have changed"
        self._check_unchanged(
            [
                ("with another teacher", before.teacher_fingerprint, request.teacher_fingerprint),
                ("with another --source", before.source, request.source),
                (changed, before.source_fingerprint, request.source_fingerprint),
                ("with other settings", before.settings, request.settings),
                ("with other --minutes", before.minutes, request.minutes),
            ]
        )

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Keep other processes from translating for the same student."""
        with path_lock(self.pairs_folder) as acquired:
            if not acquired:
                raise UserError(f"{self.path}: another process is making this student; stop it first, or wait.")
            yield


def train_or_resume(folder: DerivedRunFolder, display: ProgressDisplay, device: str) -> RunOutcome:
    """Start the run of a prepared folder, or resume it."""
    if folder.has_run():
        return resume_training(folder.path, display, device)
    return run_training(folder, load_recipe(folder.recipe_file), display, RankGroup(select_device(device)))


def write_pairs(path: Path, pairs: Iterable[TextPair], fields: PairFields) -> None:
    write_atomically(path, lambda file: file.writelines(pairs_to_jsonl(pairs, fields)))


def pairs_to_jsonl(pairs: Iterable[TextPair], fields: PairFields) -> Iterator[bytes]:
    """Yield pairs as lines of JSON, since text may contain tabs and carriage returns."""
    for pair in pairs:
        yield f"{json.dumps(dict(zip(fields, pair, strict=True)), ensure_ascii=False)}\n".encode()


def to_json_bytes(node: object) -> bytes:
    return f"{json.dumps(node, indent=2, ensure_ascii=False)}\n".encode()
