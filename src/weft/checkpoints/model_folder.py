"""Run and model folders without torch: file names, how a folder is found and locked, tokenizers, `ModelFolder`, the
content of a model folder as plain data (config dict, numpy weights), and the files that commands add to it after
training: confidence.json (calibration) and shortlist.safetensors.

Keep this file free of torch imports: `weft translate` with CTranslate2 starts without torch.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from weft.checkpoints.file_formats import (
    COPY_ADVICE,
    explain_load_errors,
    explain_save_errors,
    read_json_as,
    read_json_object,
    write_json,
)
from weft.checkpoints.manifest import MANIFEST_FILE, check_manifest, migrate_document, read_manifest, write_manifest
from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.files import atomic_folder, path_lock, readable_folder, recover_folder, similar_path
from weft.data.image_codec import ImageCodec
from weft.data.languages import LanguagePair, language_pair
from weft.metrics.calibration import Calibration, CalibrationResult
from weft.text.lexical_shortlist import Shortlist
from weft.text.tokenizer import TOKENIZER_SUFFIXES, Tokenizer

RUN_RECIPE_FILE = "config.yaml"  # marks a run folder
WEIGHTS_FILE, CONFIG_FILE, METRICS_FILE = "weights.safetensors", "config.json", "metrics.json"
SHORTLIST_FILE, CALIBRATION_FILE = "shortlist.safetensors", "confidence.json"
EXTRA_FILES = {METRICS_FILE, SHORTLIST_FILE, CALIBRATION_FILE}  # do not change what the model computes

RecipeNode = dict[str, Any]
NumpyWeights = dict[str, NDArray[np.float32]]


def find_run_folder(path: Path) -> Path | None:
    """The run folder that `path` is, or that contains the model folder `path`; None if there is none."""
    return next((folder for folder in (path, path.resolve().parent) if (folder / RUN_RECIPE_FILE).is_file()), None)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a run or model folder against other writing processes; raise UserError if one holds the lock."""
    with path_lock(folder) as acquired:
        if not acquired:
            raise UserError(
                f"{folder}: another process is writing there (it trains this run, or adds something to its model); "
                "stop it first, or wait."
            )
        yield


@contextmanager
def lock_model_folder(path: Path) -> Iterator[Path]:
    """Lock the model in a run or model folder against other processes, and yield its folder."""
    run = find_run_folder(path)
    with nullcontext() if run is None else lock_folder(run):
        for candidate in model_folder_candidates(path):
            recover_folder(candidate)
        folder = find_model(path)
        with lock_folder(folder):
            yield folder


def find_model(path: Path) -> Path:
    """The model folder that `path` is, or the best model of a run folder (the last one before any validation).

    If a process was killed while it replaced that model, the old one is returned under its temporary name.
    """
    for folder in map(readable_folder, model_folder_candidates(path)):
        if (folder / MANIFEST_FILE).is_file() and (folder / WEIGHTS_FILE).is_file():
            return folder
    if not path.exists():
        hint = similar_path(path) or "."
        raise UserError(f"{path}: there is no such folder. Give a run folder or a model folder{hint}")
    raise UserError(
        f"{path} is not a model folder: it has no {MANIFEST_FILE} with {WEIGHTS_FILE}, and neither has "
        f"{path / 'best'}. Give the folder that weft train wrote (its --out)."
    )


def model_folder_candidates(path: Path) -> tuple[Path, ...]:
    return path, path / "best", path / "last"


def folder_fingerprint(path: Path) -> str:
    """A hash of all files of a model folder: its manifest has a hash of each."""
    return hashlib.sha256((find_model(path) / MANIFEST_FILE).read_bytes()).hexdigest()


def model_fingerprint(path: Path) -> str:
    """A hash of the model itself; adding a shortlist or a calibration does not change it."""
    files = read_manifest(find_model(path)).files
    lines = [f"{name} {entry.sha256}" for name, entry in sorted(files.items()) if name not in EXTRA_FILES]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def save_tokenizers(folder: Path, source: Codec, target: Tokenizer) -> None:
    source.save(folder / f"source.{source.file_suffix}")
    if target is not source:
        target.save(folder / f"target.{target.file_suffix}")


def load_tokenizers(folder: Path) -> tuple[Codec, Tokenizer]:
    """The codecs of both sides. Without target files, source and target share one tokenizer."""
    images = folder / f"source.{ImageCodec.file_suffix}"
    files = {order: folder / f"target.{suffix}" for order, suffix in TOKENIZER_SUFFIXES.items()}
    target = next((Tokenizer.load(path, order) for order, path in files.items() if path.exists()), None)
    if images.exists():
        return ImageCodec.load(images), target or Tokenizer.load(files["forward"])
    source = Tokenizer.load(folder / f"source.{TOKENIZER_SUFFIXES['forward']}")
    return source, target or source


@dataclass(frozen=True)
class ModelFolder:
    """A model folder as plain data. config: the recipe with all defaults. source: a tokenizer or an image codec."""

    path: Path
    config: RecipeNode
    source: Codec
    target: Tokenizer

    @property
    def slots(self) -> RecipeNode:
        """The section `model` of the recipe: source, encoder, target, decoder, head ..."""
        return cast(RecipeNode, self.config["model"])

    @property
    def languages(self) -> LanguagePair | None:
        """The source and the target language; None if they are unknown or do not apply."""
        return language_pair(self.config["data"]["languages"])

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The source tokenizer of a model that reads text."""
        return cast(Tokenizer, self.source)

    @property
    def uses_shortlist(self) -> bool:
        return bool(self.config["translate"].get("shortlist", False))

    @property
    def max_source_length(self) -> int:
        """The most source tokens that the model reads: the limit of training, or of its learned positions."""
        trained, positions = self.config["data"]["max_length"], _max_positions(self.slots["source"])
        return int(trained if positions is None else min(trained, positions - 1))

    @property
    def max_target_length(self) -> int | None:
        """The most target tokens that the model has positions for (None: any number)."""
        positions = _max_positions(self.slots["target"])
        return None if positions is None else positions - 1

    def max_output_length(self, source_length: int) -> int:
        """The most output tokens, EOS included, for a source of this length; in float32, as the Translator has it."""
        translate = self.config["translate"]
        factor, extra = np.float32(translate["max_length_factor"]), int(translate["max_length_extra"])
        limit = int(np.float32(source_length) * factor) + extra
        return limit if self.max_target_length is None else min(limit, self.max_target_length)

    def weights(self) -> NumpyWeights:
        """All weights by name; a shared one under each of its names."""
        with explain_load_errors(self.path / WEIGHTS_FILE):
            weights = load_file(self.path / WEIGHTS_FILE)
        if self.slots["tie"] in ("embeddings", "all"):
            weights["target.weight"] = weights["source.weight"]
        if self.slots["tie"] in ("output", "all"):
            weights["head.weight"] = weights["target.weight"]
        return weights


def read_model_folder(path: Path) -> ModelFolder:
    """The model in a run or model folder, every file checked against the manifest."""
    folder = find_model(path)
    return ModelFolder(folder, read_config(folder), *load_tokenizers(folder))


def read_config(folder: Path) -> RecipeNode:
    """The recipe in a model folder, every file checked against the manifest."""
    version = check_manifest(folder).format
    return migrate_document(read_json_object(folder / CONFIG_FILE), "config", version)


def _max_positions(embedding: RecipeNode) -> int | None:
    match embedding:
        case {"positions": {"type": "learned", "max_length": int(limit)}}:
            return limit
        case _:
            return None


@contextmanager
def replace_model_folder(folder: Path) -> Iterator[Path]:
    """Yield a copy of a model folder to add files to; it then replaces the folder, with a new manifest."""
    manifest = check_manifest(folder)
    with atomic_folder(folder) as new:
        try:
            shutil.copytree(folder, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
            unchanged = check_manifest(new) == manifest
        except (shutil.Error, UserError):
            unchanged = False
        if not unchanged:
            raise UserError(f"{folder}: was changed by another process while it was copied; start again")
        yield new
        write_manifest(new, manifest.extra)


@dataclass(frozen=True)
class SavedCalibration:
    """The content of confidence.json."""

    good: str  # when a line counts as good, in words
    intercept: float
    slope: float
    length: float
    lines: int
    share_good: float
    error: float

    def __str__(self) -> str:
        return f"good is {self.good}; learned from {self.lines:,} lines, calibration error {self.error:.4f}"


def save_calibration(folder: Path, result: CalibrationResult, good: str) -> None:
    """Add a calibration to a model folder, or replace the one there."""
    saved = SavedCalibration(good, *result.calibration, result.lines, result.good, result.error)
    with replace_model_folder(folder) as new:
        write_json(new / CALIBRATION_FILE, asdict(saved))


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a model folder whose manifest has been checked; None if it has none."""
    saved = read_saved_calibration(folder)
    return None if saved is None else Calibration(saved.intercept, saved.slope, saved.length)


def read_saved_calibration(folder: Path) -> SavedCalibration | None:
    path = folder / CALIBRATION_FILE
    return read_json_as(path, SavedCalibration) if path.exists() else None


def save_shortlist(folder: Path, shortlist: Shortlist) -> None:
    """Add a shortlist to a model folder, or replace the one there."""
    with replace_model_folder(folder) as new, explain_save_errors(new / SHORTLIST_FILE):
        save_file(vars(shortlist), new / SHORTLIST_FILE)


def load_shortlist(folder: Path) -> Shortlist:
    """The shortlist of a model folder whose manifest has been checked; raise UserError if it has none."""
    if not has_shortlist(folder):
        raise UserError(f"{folder} has no shortlist: to learn one from its training data, weft shortlist {folder}")
    path = folder / SHORTLIST_FILE
    with explain_load_errors(path):
        arrays = load_file(path)
    try:
        shortlist = Shortlist(arrays["always"], arrays["starts"], arrays["listed"])
    except KeyError as error:
        raise UserError(f"{path}: is not a shortlist of Weft ({error}); {COPY_ADVICE}") from error
    starts = shortlist.starts
    if starts.size == 0 or starts[-1] != len(shortlist.listed) or np.any(np.diff(starts) < 0):
        raise UserError(f"{path}: is not a shortlist of Weft (inconsistent row offsets); {COPY_ADVICE}")
    return shortlist


def has_shortlist(folder: Path) -> bool:
    return (folder / SHORTLIST_FILE).exists()
