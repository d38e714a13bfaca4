"""Sequence-level distillation: the teacher translates, and a student learns its translations.

Kim & Rush 2016, section 3.2: the student learns y = argmax p_teacher(y | x), approximated by the teacher's search. A
line has one such translation where people have many, so that a small model has less to model. The student is
initialized from the teacher's layers (Shleifer & Rush 2020, section 3.2), trained, and compared with its teacher.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, ClassVar

import torch

from weft.checkpoints.file_formats import write_json
from weft.checkpoints.model_folder import find_model, has_shortlist, model_fingerprint
from weft.checkpoints.run_origin import locate_data
from weft.checkpoints.trained_model import TrainedModel, load_model_recipe, model_weights
from weft.config.inference_config import InferenceConfig
from weft.config.recipe import Recipe, load_recipe
from weft.core.errors import UserError
from weft.core.files import path_lock, remove_leftovers, write_atomically
from weft.core.formatting import format_duration
from weft.core.lazy import Reiterable
from weft.core.seeds import seed_all
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.hashes import hash_file
from weft.data.text_files import read_lines, require_regular_file
from weft.inference.backends import BackendOptions, select_backend
from weft.inference.loader import load_translator
from weft.inference.shortlist_training import DEFAULT_MAX_PAIRS, DEFAULT_SHORTLIST_SIZE, train_shortlist
from weft.metrics.corpus_metrics import language_options
from weft.models.build import build_model
from weft.models.model import count_parameters
from weft.text.text_config import source_modality
from weft.training.progress import ProgressDisplay
from weft.training.recipe_checks import check_data_files, check_recipe
from weft.training.run_folder import PairFields, PreparedRunFolder, TextPair, pairs_to_jsonl, write_pairs
from weft.training.student_comparison import (
    build_systems,
    format_systems,
    measure_systems,
    systems_to_json,
    text_translator,
)
from weft.training.student_recipe import make_student_recipe
from weft.training.trainer import RunOutcome
from weft.training.training_run import run_prepared_training
from weft.training.warm_start import weight_setting_differences

INHERITED_SLOTS = ("source", "encoder", "target", "decoder", "head")
COMPARISON_METRICS = ("bleu", "chrf")
LINES_PER_PART = 1000  # an interruption loses at most one part
PROGRESS_REPORTS = 10  # while the teacher translates


@dataclass(frozen=True)
class DistillationRequest:
    """What a user requested. The fingerprints are of the teacher and the lines that it translates."""

    teacher: str
    teacher_fingerprint: str
    source: tuple[str, ...]
    source_fingerprint: str
    settings: tuple[str, ...]
    minutes: float | None


class StudentFolder(PreparedRunFolder[DistillationRequest]):
    kind, command, request_type = "distillation", "weft distill", DistillationRequest
    differences: ClassVar[dict[str, str]] = {
        "teacher_fingerprint": "with another teacher",
        "source": "with another --source",
        "source_fingerprint": "with other lines to translate: the files have changed",
        "settings": "with other settings",
        "minutes": "with other --minutes",
    }


@dataclass(frozen=True)
class TransferSet:
    """Lines for the teacher to translate. pairs: reference translations, which the student learns too."""

    lines: Iterable[str]
    name: str
    fingerprint: str
    description: str
    pairs: Iterable[TextPair]

    def count_lines(self) -> int:
        """Return the number of lines; raise UserError if all are empty."""
        count, has_text = 0, False
        for line in self.lines:
            count, has_text = count + 1, has_text or bool(line.strip())
        if not has_text:
            raise UserError(f"{self.name}: there is no line to translate in it")
        return count


def distill(
    teacher: Path,
    folder: StudentFolder,
    display: ProgressDisplay,
    *,
    source: tuple[Path, ...] = (),
    settings: Sequence[str] = (),
    minutes: float | None = None,
    device: str = "auto",
) -> RunOutcome:
    """Make a student of the teacher; the same call resumes what was stopped.

    source: files with lines for the teacher to translate, instead of its training data.
    """
    if not folder.is_prepared():
        folder.check_can_start()  # before anything is read
    transfer_set = load_transfer_set(teacher, load_located_recipe(teacher), source)
    files = tuple(str(file) for file in source)
    request = DistillationRequest(
        str(teacher.absolute()), model_fingerprint(teacher), files, transfer_set.fingerprint, tuple(settings), minutes
    )
    if folder.is_prepared():
        folder.check_same(request)
    if not folder.has_run() and not translate_with_teacher(request, folder, transfer_set, display, device):
        return "interrupted"
    return run_prepared_training(folder, display, device)


def translate_with_teacher(
    request: DistillationRequest,
    folder: StudentFolder,
    transfer_set: TransferSet,
    display: ProgressDisplay,
    device: str,
) -> bool:
    """Do everything that needs the teacher, which leaves memory afterwards; return False if interrupted."""
    teacher = Path(request.teacher)
    translator = load_translator(teacher, device=device)
    if not folder.is_prepared():
        prepare_student(folder, request, translator.trained, transfer_set, display)
    with path_lock(folder.pairs_folder) as acquired:
        if not acquired:
            raise UserError(f"{folder.path}: another process is making this student; stop it first, or wait.")
        selected = select_backend(teacher, BackendOptions("auto", None, None, (), device=device), lambda: translator)
        display.print(f"backend: {selected.reason}")
        translate = text_translator(selected.backend, lambda: translator)
        data = locate_data(teacher, translator.trained.recipe.data)
        return write_transfer_set(folder, data, translate, transfer_set, display)


def prepare_student(
    folder: StudentFolder,
    request: DistillationRequest,
    teacher: TrainedModel,
    transfer_set: TransferSet,
    display: ProgressDisplay,
) -> None:
    """Make all choices and create the folder; problems are reported first."""
    transfer_set.count_lines()
    recipe, lines = load_located_recipe(Path(request.teacher)), transfer_set.description
    chosen = make_student_recipe(recipe, request.teacher, folder, request.settings, request.minutes, lines)
    check_recipe(replace(chosen.recipe, train=replace(chosen.recipe.train, initial_model=None)))
    check_data_files(chosen.recipe, (folder.pairs("train"), folder.pairs("valid")))
    if folder.pairs("valid") in validation_files(chosen.recipe):
        advice = "Put them back, or name others for its student: data.valid=[FILE,FILE]"
        open_teacher_split(recipe, "valid", f"the pairs that {request.teacher} was validated on", advice)
    display.print(chosen.reasons)
    student, copied = initialize_from_teacher(chosen.recipe, teacher)
    total = count_parameters(student.model)
    display.print(f"the student starts with {copied:,} of its {total:,} weights from its teacher")
    folder.prepare(request, chosen.yaml, student, {}, {}, teacher.recipe.data.fields)


def initialize_from_teacher(recipe: Recipe, teacher: TrainedModel) -> tuple[TrainedModel, int]:
    """Build the model of the recipe, and copy the teacher's weights in slots that differ in the number of layers only.

    Weights are matched by name: the decoder's single layer is the teacher's first, and encoder layers that the teacher
    does not have are new. Also return the number of weights copied.
    """
    seed_all(recipe.train.seed, "weights")
    source, target = teacher.source_tokenizer, teacher.target_tokenizer
    model = build_model(recipe.model, source.vocabulary(), target.vocabulary(), joint=recipe.text.joint)
    differences = [place.split(".") for place, *_ in weight_setting_differences(recipe, teacher.recipe)]
    changed = {names[1] for names in differences if names[0] == "model" and names[-1] != "layers"}
    slots, old_weights, copied = {*INHERITED_SLOTS} - changed, model_weights(teacher.model), 0
    for name, weight in model_weights(model).items():
        old = old_weights.get(name)
        if old is not None and old.shape == weight.shape and name.partition(".")[0] in slots:
            weight.copy_(old)
            copied += weight.numel()
    return TrainedModel(model, source, target, recipe, {}), copied


def load_transfer_set(teacher: Path, recipe: Recipe, files: tuple[Path, ...]) -> TransferSet:
    """Open the files, or the training data of the teacher if there are none."""
    if source_modality(recipe.text) == "image":
        raise UserError(f"{teacher} reads images: only a model that reads text can have a student")
    if files:
        digest = blake2b(digest_size=16)
        for file in files:
            require_regular_file(file)
            digest.update(hash_file(file))
        name = " + ".join(map(str, files))
        lines = Reiterable(lambda: chain.from_iterable(map(read_lines, files)))
        return TransferSet(lines, name, digest.hexdigest(), f"the lines of {name}", ())
    advice = "Put it back, or give text in the source language: --source FILE"
    corpus = open_teacher_split(recipe, "train", f"the data that {teacher} was trained on", advice)
    sources = Reiterable(lambda: (source for source, _ in corpus.pairs()))
    return TransferSet(sources, str(corpus), corpus.fingerprint(), "the sources of its training data", corpus.pairs())


def load_located_recipe(path: Path) -> Recipe:
    """Return the recipe of a model, with data files under the names by which they are found now."""
    recipe = load_model_recipe(path)
    return replace(recipe, data=locate_data(path, recipe.data))


def open_teacher_split(recipe: InferenceConfig, split: str, name: str, advice: str) -> Corpus:
    """Open a split of the teacher's data; raise UserError, with its name and advice, if it cannot be read."""
    try:
        corpus = recipe.data.splits()[split]
        corpus.fingerprint()
    except UserError as error:
        raise UserError(f"{name} cannot be read: {error}. {advice}") from error
    return corpus


def validation_files(recipe: Recipe) -> list[Path]:
    return [path for files in recipe.data.files().get("valid", []) for path in files]


def write_transfer_set(
    folder: StudentFolder,
    data: DataConfig,
    translate: Callable[[Sequence[str]], Iterable[str]],
    transfer_set: TransferSet,
    display: ProgressDisplay,
) -> bool:
    """Write the teacher's translations, and its held-out validation pairs if needed; return False if interrupted."""
    train, valid = folder.pairs("train"), folder.pairs("valid")
    if valid in validation_files(load_recipe(folder.recipe_file)):
        write_pairs(valid, data.splits()["valid"].pairs(), data.fields)
    if train.exists():
        return True
    count = transfer_set.count_lines()
    display.print(f"the teacher translates {transfer_set.description}: {count:,} lines")
    report = make_progress_reporter(count, display)
    try:
        translate_in_parts(transfer_set.lines, translate, folder.pairs_folder, data.fields, report)
    except KeyboardInterrupt:
        display.print("stopped; the translations so far are saved. To resume, give the same command again")
        return False
    join_parts(folder.pairs_folder, transfer_set.pairs, data.fields, train)
    return True


def translate_in_parts(
    lines: Iterable[str],
    translate: Callable[[Sequence[str]], Iterable[str]],
    folder: Path,
    fields: PairFields,
    report: Callable[[int, int], None],
    size: int = LINES_PER_PART,
) -> None:
    """Write a file for each part of the lines, unless it exists; report lines done, and those done by this process."""
    remove_leftovers(folder)
    remaining, done, translated = iter(lines), 0, 0
    while part := list(islice(remaining, size)):
        path = folder / f"part-{done // size:06}.jsonl"
        if not path.exists():
            write_pairs(path, zip(part, translate(part), strict=True), fields)
            translated += len(part)
        done += len(part)
        report(done, translated)


def join_parts(folder: Path, pairs: Iterable[TextPair], fields: PairFields, path: Path) -> None:
    """Write all parts, then the pairs, into one file, and remove the parts."""
    parts = sorted(folder.glob("part-*.jsonl"))

    def write(file: BinaryIO) -> None:
        for part in parts:
            file.write(part.read_bytes())
        file.writelines(pairs_to_jsonl(pairs, fields))

    write_atomically(path, write)
    for part in parts:
        part.unlink()


def make_progress_reporter(count: int, display: ProgressDisplay) -> Callable[[int, int], None]:
    """Return a function that reports lines done and the time left, by the speed of this process."""
    start, reports = time.monotonic(), 0

    def report(done: int, translated: int) -> None:
        nonlocal reports
        rate = translated / max(1e-9, time.monotonic() - start)
        left = f", left {format_duration((count - done) / rate)}" if rate > 0 else ""
        display.progress(f"translating{left}", done)
        if PROGRESS_REPORTS * done // count > reports:
            reports = PROGRESS_REPORTS * done // count
            display.print(f"translated {done:,} of {count:,} lines{left}")

    return report


def compare_with_teacher(folder: StudentFolder, display: ProgressDisplay, device: str) -> str | None:
    """Measure teacher and student, save the result, and return a table; None if there is no test or validation data.

    Trains a shortlist for a student that has none.
    """
    request = folder.request()
    data = load_located_recipe(folder.path).data
    corpora = data.splits()
    corpus = corpora.get("test", corpora.get("valid"))
    if corpus is None:
        display.print("there is no test set and no validation set: give data.test to compare teacher and student")
        return None
    if not has_shortlist(find_model(folder.path)):
        display.print(str(train_shortlist(folder.path, (), DEFAULT_SHORTLIST_SIZE, DEFAULT_MAX_PAIRS)))
    display.print(f"teacher and student translate {corpus} in turns")
    threads = torch.get_num_threads()
    systems = build_systems(Path(request.teacher), folder.path, device)
    results = measure_systems(systems, list(corpus.pairs()), COMPARISON_METRICS, language_options(data.languages))
    write_json(folder.scores_file, systems_to_json(results, str(corpus), threads))
    return format_systems(results, str(corpus), threads)
