"""The run folder: its files, its lock, and which settings may change when a run is resumed.

config.yaml      the resolved configuration, with all defaults
recipe.yaml      the chosen recipe with its reasons, to edit (only if Weft chose it)
origin.json      where the run was started: checkpoints/run_origin.py
data.json        the data table, fingerprints of the files, and the settings that must not change
source.*, target.*  tokenizers, or the image codec of the source
log.jsonl        a line per report, validation and diagnosis
tensorboard/     the same for TensorBoard (only with train.tensorboard)
checkpoints/     the newest two, for resuming
best/  last/     model folders

Fine-tuning and distillation prepare a folder before its run starts. KIND is finetuning or distillation:

KIND.json         the request
recipe.yaml       as above
initial_model/    what the run starts from, laid out as a run folder: best/, and checkpoints/ with the optimizer state
pairs/            the teacher's translations; new and original pairs that no file contains by themselves
KIND_scores.json  the comparison at the end
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from torch import Tensor

from weft.checkpoints import model_folder
from weft.checkpoints.checkpoint import Checkpoint, save_checkpoint
from weft.checkpoints.file_formats import read_json_as, write_json
from weft.checkpoints.model_folder import save_tokenizers
from weft.checkpoints.run_log import LOG_FILE
from weft.checkpoints.run_origin import locate_data, save_run_origin
from weft.checkpoints.trained_model import TrainedModel, model_weights, save_model
from weft.config.recipe import Recipe
from weft.config.serialization import from_dict, to_dict
from weft.config.yaml_files import dump_yaml, dump_yaml_inline, read_yaml
from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder, remove_leftovers, similar_path, write_atomically
from weft.data.data_report import SplitReport
from weft.training.data_preparation import PreparedData
from weft.training.distributed import RankGroup
from weft.training.log_writer import TENSORBOARD_FOLDER
from weft.training.time_budget import LENGTH_SETTINGS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONFIG_FILE, RECIPE_FILE, DATA_FILE = model_folder.RUN_RECIPE_FILE, "recipe.yaml", "data.json"
# Weights, token ids and optimizer state depend on these; only settings that end in "dropout" may change.
FIXED_SETTINGS = ("model", "text", "train.initial_model", "train.keep_optimizer", "train.freeze")
# Scores of validations can be compared only if these are the same.
VALIDATION_SETTINGS = (
    "objective",
    *(f"train.validation.{name}" for name in ("best_metric", "lines", "search", "frame_decoder")),
)

TextPair: TypeAlias = tuple[str, str]
PairFields: TypeAlias = tuple[str, str]  # the keys of a pair in a .jsonl
RequestT = TypeVar("RequestT", bound="DataclassInstance")


@dataclass(frozen=True)
class RunData:
    """The content of data.json. fingerprints: of the files that the run reads, by their place in the recipe."""

    fingerprints: dict[str, str]
    splits: tuple[SplitReport, ...]
    fixed_settings: dict[str, Any]


class RunFolder:
    def __init__(self, path: Path):
        self.path = path
        self.log, self.tensorboard = path / LOG_FILE, path / TENSORBOARD_FOLDER
        self.checkpoints, self.best, self.last = path / "checkpoints", path / "best", path / "last"
        self._started_flag = f"started {path.absolute()}"

    def resume_command(self) -> str:
        return f"weft train --resume {shlex.quote(str(self.path))}"

    def has_run(self) -> bool:
        """Return whether a run was started in this folder."""
        return (self.path / CONFIG_FILE).is_file()

    def is_prepared(self) -> bool:
        """Return whether the folder exists already with the inputs of a run; see PreparedRunFolder."""
        return False

    def check_can_start(self) -> None:
        """Raise UserError if a new run cannot be started here."""
        if not self.is_prepared():
            advice = (
                f". To resume that run: {self.resume_command()}; to start a new one, give another --out or remove the "
                "folder."
            )
            check_new_folder(self.path, advice, "--out")
        elif self.has_run():
            raise UserError(f"{self.path}: another process has started this run meanwhile; to resume it, start again")

    def create(self, recipe: Recipe, data: PreparedData, recipe_yaml: str | None, ranks: RankGroup) -> None:
        """Write everything that resuming needs to begin at the same first step.

        The configuration comes last, since it marks a run folder.
        """
        ranks.set_flag(self._started_flag)
        run_data = RunData(data.fingerprints, data.report.splits, fixed_settings(to_dict(recipe)))
        with nullcontext(self.path) if self.is_prepared() else new_folder(self.path) as folder:
            save_tokenizers(folder, data.source, data.target)
            write_json(folder / DATA_FILE, asdict(run_data))
            if recipe_yaml is not None:
                write_atomically(folder / RECIPE_FILE, recipe_yaml.encode())
            save_run_origin(folder, self.path)
            RunFolder(folder).write_recipe(recipe)

    def was_restarted(self, ranks: RankGroup) -> bool:
        """Return whether torchrun started these processes in place of others that had started this run."""
        return ranks.has_flag(self._started_flag) and ranks.on_main(self.has_run)

    def check_has_run(self) -> None:
        if not self.path.exists():
            hint = similar_path(self.path) or "."
            raise UserError(f"{self.path}: there is no such folder. Give the --out of an earlier run{hint}")
        if not self.has_run():
            raise UserError(
                f"{self.path} is not a run folder: it has no {CONFIG_FILE}. Give the --out of an earlier run."
            )

    def recipe(self) -> Recipe:
        """Read the configuration of the run."""
        self.check_has_run()
        return from_dict(read_yaml(self.path / CONFIG_FILE), Recipe)

    def located_recipe(self) -> Recipe:
        """Read the configuration, with data files under the names by which they are found now."""
        recipe = self.recipe()
        return replace(recipe, data=locate_data(self.path, recipe.data))

    def write_recipe(self, recipe: Recipe) -> None:
        """Write the configuration, with all that was decided so far."""
        write_atomically(self.path / CONFIG_FILE, dump_yaml(to_dict(recipe)).encode())

    def clean_up(self) -> None:
        """Restore or remove what a killed run was writing."""
        for folder in (self.path, self.checkpoints):
            if folder.is_dir():
                remove_leftovers(folder)

    def data(self) -> RunData:
        return read_json_as(self.path / DATA_FILE, RunData)

    def check_same_settings(self, recipe: Recipe) -> None:
        """Raise UserError if a setting has changed that must stay as it was when the run started."""
        now = fixed_settings(to_dict(recipe))
        check_fixed_settings(self.data().fixed_settings, now, self.path / CONFIG_FILE)

    def check_same_data(self, data: PreparedData) -> None:
        """Raise UserError if the data, or the teacher, has changed since the run started."""
        before = self.data().fingerprints
        for place, value in data.fingerprints.items():
            if before.get(place) != value:
                raise UserError(
                    f"the files of {place} have changed since the run in {self.path} started, so it cannot be resumed. "
                    "Put the old files back, or start a new run with another --out."
                )

    def locked(self, ranks: RankGroup) -> AbstractContextManager[None]:
        """Keep other processes from writing into the folder; rank 0 holds the lock."""
        return nullcontext() if ranks.rank else model_folder.lock_folder(self.path)


class PreparedRunFolder(RunFolder, Generic[RequestT]):
    """The folder of a run that starts from a trained model. Only the request that it was prepared for resumes it.

    command: what prepares the folder. differences: attributes of a request that must be equal, with how the folder was
    started if they are not.
    """

    kind: ClassVar[str]
    command: ClassVar[str]
    request_type: ClassVar[type[Any]]
    differences: ClassVar[Mapping[str, str]]

    def __init__(self, path: Path):
        super().__init__(path)
        self.request_file, self.scores_file = path / f"{self.kind}.json", path / f"{self.kind}_scores.json"
        self.recipe_file = path / RECIPE_FILE
        self.initial_model, self.pairs_folder = path / "initial_model", path / "pairs"

    def pairs(self, name: str) -> Path:
        return self.pairs_folder / f"{name}.jsonl"

    def is_prepared(self) -> bool:
        return self.request_file.is_file()

    def request(self) -> RequestT:
        if not self.is_prepared():
            raise UserError(
                f"{self.path} is not a folder of {self.command}: it has no {self.request_file.name}. Give the --out of "
                f"{self.command}."
            )
        request: RequestT = read_json_as(self.request_file, self.request_type)
        return request

    def check_same(self, request: RequestT) -> None:
        """Raise UserError if the folder was prepared for another request."""
        before = self.request()
        for name, description in self.differences.items():
            if attrgetter(name)(before) != attrgetter(name)(request):
                raise UserError(
                    f"{self.path} was started {description}. To resume it, give the command that started it "
                    f"(it is in {self.request_file}); for a new one, give another --out."
                )

    def prepare(
        self,
        request: RequestT,
        recipe_yaml: str,
        initial: TrainedModel,
        optimizer_state: Mapping[str, Tensor],
        pairs: Mapping[str, Iterable[TextPair]],
        fields: PairFields,
    ) -> None:
        """Create the folder; the request comes last, since it marks a prepared folder."""
        with new_folder(self.path) as path:
            new, start = type(self)(path), RunFolder(path / self.initial_model.name)
            start.path.mkdir(exist_ok=True)
            save_model(start.best, initial, model_weights(initial.model))
            if optimizer_state:
                save_checkpoint(start.checkpoints, 0, Checkpoint({"optimizer": optimizer_state}, {}))
            save_run_origin(start.path, self.initial_model)
            new.pairs_folder.mkdir(exist_ok=True)
            for name, rows in pairs.items():
                write_pairs(new.pairs(name), rows, fields)
            write_atomically(new.recipe_file, recipe_yaml.encode())
            write_json(new.request_file, asdict(request))


def write_pairs(path: Path, pairs: Iterable[TextPair], fields: PairFields) -> None:
    write_atomically(path, lambda file: file.writelines(pairs_to_jsonl(pairs, fields)))


def pairs_to_jsonl(pairs: Iterable[TextPair], fields: PairFields) -> Iterator[bytes]:
    """Yield pairs as lines of JSON, since text may contain tabs and carriage returns."""
    for pair in pairs:
        yield f"{json.dumps(dict(zip(fields, pair, strict=True)), ensure_ascii=False)}\n".encode()


def fixed_settings(recipe: dict[str, Any]) -> dict[str, Any]:
    return {place: setting_at(recipe, place) for place in FIXED_SETTINGS}


def check_fixed_settings(before: dict[str, Any], now: dict[str, Any], config: Path) -> None:
    """Raise UserError with all fixed settings that differ. config: the file in which a user may have changed them."""
    changed = [
        f"{place}: {old} -> {new}"
        for place, old, new in setting_differences(before, now)
        if not place.endswith("dropout")
    ]
    if changed:
        raise UserError(
            f"{config}: {'; '.join(changed)}: this cannot change once a run has started, since its weights depend on "
            "the old value. Put that back, or start a new run with another --out."
        )


class ReusableState(NamedTuple):
    """The parts of a checkpoint that a run with changed settings can still use; the others are reset."""

    optimizer: bool
    average: bool
    meter: bool
    best: bool

    def reset_parts(self) -> list[str]:
        names = ("the optimizer state", "the average of the weights", "the means of the next report", "the best model")
        return [name for name, reusable in zip(names, self, strict=True) if not reusable]


def reusable_state(before: dict[str, Any], now: dict[str, Any]) -> ReusableState:
    """Compare the configuration of a checkpoint with the current one."""

    def same(*places: str) -> bool:
        return all(setting_at(before, place) == setting_at(now, place) for place in places)

    return ReusableState(
        optimizer=same("train.optimizer.type"),
        average=setting_at(now, "train.average") is None or same("train.average.type"),
        meter=same("objective"),
        best=same(*VALIDATION_SETTINGS),
    )


def describe_changes(before: dict[str, Any], now: dict[str, Any], step: int) -> str | None:
    """Describe settings that a user has changed since a checkpoint; None if there are none."""
    automatic = LENGTH_SETTINGS if setting_at(before, LENGTH_SETTINGS[0]) is None else ()
    changed = [
        f"{place}: {old} -> {new}" for place, old, new in setting_differences(before, now) if place not in automatic
    ]
    if not changed:
        return None
    reset = reusable_state(before, now).reset_parts()
    return (
        f"the configuration has changed since step {step}: {'; '.join(changed)}. The new values hold from here on, so "
        "the result will differ from a run that had the new, or the old, values from its first step"
        + (f". Reset: {', '.join(reset)}" if reset else "")
    )


def setting_differences(before: Any, now: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the place and both values, as YAML, of each setting that differs."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        if before != now:
            yield place, dump_yaml_inline(before), dump_yaml_inline(now)
        return
    for name in dict.fromkeys([*before, *now]):
        inner = f"{place}.{name}" if place else name
        if name in before and name in now:
            yield from setting_differences(before[name], now[name], inner)
        else:
            old, new = (dump_yaml_inline(node[name]) if name in node else "nothing" for node in (before, now))
            yield inner, old, new


def setting_at(node: Any, place: str) -> Any:
    """Return the value at a dotted place; None if there is none."""
    for name in place.split("."):
        node = node.get(name) if isinstance(node, dict) else None
    return node
