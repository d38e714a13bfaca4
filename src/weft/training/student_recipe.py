"""The recipe of a student: the teacher's settings with a deep encoder and a one-layer decoder (Kasai et al. 2021),
limited to what CTranslate2 can run.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import PlainData
from weft.core.errors import UserError
from weft.training.commented_recipe import CommentedRecipe, SettingChoice, make_commented_recipe, overridden_places
from weft.training.run_folder import PreparedRunFolder
from weft.training.time_budget import length_overrides
from weft.training.warm_start import weight_setting_differences

ENCODER_LAYERS, DECODER_LAYERS = 6, 1
DEFAULT_STUDENT_MINUTES = 60.0  # if neither the user nor the teacher's recipe sets the length
STUDENT_TITLE = "Chosen by weft for a student of {}. Train it again with: weft train THIS_FILE --out FOLDER"
# For teachers that are not Transformers:
DEFAULT_DIM, DEFAULT_DROPOUT, DEFAULT_LEARNING_RATE = 256, 0.1, 2e-3
DEFAULT_STACK: dict[str, PlainData] = {
    "heads": 4,
    "ffn_dim": 1024,
    "norm": "pre",
    "activation": "relu",
    "dropout": DEFAULT_DROPOUT,
}


def make_student_recipe(
    teacher: Recipe,
    name: str,
    folder: PreparedRunFolder[Any],
    settings: Sequence[str],
    minutes: float | None,
    transfer_set: str,
) -> CommentedRecipe:
    """Choose the recipe. name: the teacher's folder. transfer_set: a description of the lines it translates."""
    node = to_dict(teacher, REGISTRY)
    if conflicts := overridden_places(settings) & {"data.train", "data.folder"}:
        raise UserError(
            f"{min(conflicts)} is set, but a student learns its teacher's translations: to choose what it translates, "
            "--source FILE"
        )
    choices = [
        *_data_choices(teacher, folder, transfer_set),
        *_text_choices(node["text"]),
        *_model_choices(node),
        *_training_choices(node, folder),
        *_translate_choices(node["translate"]),
    ]
    overrides = [*length_overrides(minutes, settings), *settings]
    chosen = make_commented_recipe(
        choices, overrides, heading="chosen from the teacher:", title=STUDENT_TITLE.format(name)
    )
    for place, *_ in weight_setting_differences(chosen.recipe, teacher):
        if place.startswith("text."):
            raise UserError(f"{place} is set, but a student has the tokenizers of its teacher: omit it")
    return chosen


def _data_choices(teacher: Recipe, folder: PreparedRunFolder[Any], transfer_set: str) -> Iterator[SettingChoice]:
    data = teacher.data
    files = {name: [str(path) for path in corpora[0]] for name, corpora in data.files().items()}
    if data.validation_fraction and not data.valid:
        files["valid"] = [str(folder.pairs("valid"))]
    yield SettingChoice("data.train", [str(folder.pairs("train"))], f"the teacher's translations of {transfer_set}")
    for name in ("valid", "test"):
        yield SettingChoice(f"data.{name}", list(files.get(name, [])))
    yield SettingChoice("data.fields", list(data.fields))
    yield SettingChoice("data.max_length", data.max_length)
    yield SettingChoice("data.max_length_ratio", data.max_length_ratio)
    yield SettingChoice("data.drop_duplicates", data.drop_duplicates)
    yield SettingChoice("data.cache", data.cache)


def _text_choices(node: dict[str, Any]) -> Iterator[SettingChoice]:
    for number, (name, value) in enumerate(node.items()):
        yield SettingChoice(f"text.{name}", value, None if number else "as the teacher's, whose tokenizers are used")


def _model_choices(node: dict[str, Any]) -> Iterator[SettingChoice]:
    """Deep encoder, shallow decoder, with the widths of the teacher if it is a Transformer."""
    slots, dim, stack, same = node["model"], DEFAULT_DIM, DEFAULT_STACK, is_transformer(node)
    if same:
        encoder, decoder = slots["encoder"], slots["decoder"]
        dim, stack = slots["source"]["dim"], {name: decoder[name] for name in ("heads", "ffn_dim")}
        stack |= {name: encoder[name] for name in ("norm", "activation", "dropout")}
        if stack["activation"] not in ("relu", "gelu"):
            stack["activation"] = "relu"
    embedding: dict[str, PlainData] = {
        "type": "tokens",
        "dim": dim,
        "positions": "sinusoidal",
        "dropout": stack["dropout"],
    }
    deep: dict[str, PlainData] = {"type": "transformer", "layers": ENCODER_LAYERS, **stack}
    shallow: dict[str, PlainData] = {"type": "transformer", "layers": DECODER_LAYERS, **stack}
    yield SettingChoice("model.source", embedding, f"{dim} wide, {'as the teacher' if same else 'a small Transformer'}")
    yield SettingChoice("model.encoder", deep, f"{ENCODER_LAYERS} layers: a sentence is encoded only once")
    yield SettingChoice("model.target", embedding)
    yield SettingChoice("model.decoder", shallow, "one layer, since it runs for every token (Kasai et al. 2021)")
    yield SettingChoice("model.tie", slots["tie"] if same else "all" if node["text"]["joint"] else "output")


def _training_choices(node: dict[str, Any], folder: PreparedRunFolder[Any]) -> Iterator[SettingChoice]:
    """Yield the teacher's settings, as far as they suit a Transformer.

    These keep their defaults: the objective, since the data contains the teacher's knowledge; the precision, which
    depends on the machine; freezing and the parallel strategy, since a student is small.
    """
    settings, same = node["train"], is_transformer(node)
    steps: int | None = settings["steps"]
    yield SettingChoice(
        "train.initial_model", str(folder.initial_model), "the teacher's tokenizers, and those of its weights that fit"
    )
    yield SettingChoice("train.seed", settings["seed"])
    yield SettingChoice("train.steps", steps, None if steps is None else f"{steps:,} updates, as for the teacher")
    yield SettingChoice("train.minutes", DEFAULT_STUDENT_MINUTES if steps is None else None)
    for name in ("batch_tokens", "gradient_accumulation", "clip_norm"):
        yield SettingChoice(f"train.{name}", settings[name])
    if same:  # otherwise the learning rate is not the teacher's
        yield SettingChoice("train.optimizer", settings["optimizer"])
    schedule: dict[str, PlainData] = {
        "type": "warmup-stable-decay",
        "learning_rate": settings["schedule"]["learning_rate"] / 2 if same else DEFAULT_LEARNING_RATE,
        "warmup_steps": 200,
        "decay_ratio": 0.6,
    }
    reason = "half of the teacher's learning rate, since most weights are not new" if same else None
    yield SettingChoice("train.schedule", schedule, reason)
    average: dict[str, PlainData] = {"type": "exponential", "decay": 0.998}
    yield SettingChoice("train.average", average, "an average of the last weights is used")
    yield SettingChoice("train.validation", settings["validation"] | {"search": "greedy"})
    for name in ("checkpoint_steps", "checkpoint_minutes", "log_every"):
        yield SettingChoice(f"train.{name}", settings[name])


def _translate_choices(node: dict[str, Any]) -> Iterator[SettingChoice]:
    reason = "greedy: the data contains what a beam finds (Kim & Rush 2016)"
    yield SettingChoice("translate.search", "greedy", reason)
    for name in ("max_length_factor", "max_length_extra", "batch_tokens", "buffer_size"):
        yield SettingChoice(f"translate.{name}", node[name])


def is_transformer(node: dict[str, Any]) -> bool:
    """Return whether the teacher is a Transformer whose widths a student can have."""
    slots = node["model"]
    types = [slots[name]["type"] for name in ("source", "encoder", "target", "decoder")]
    return types == ["tokens", "transformer"] * 2 and bool(slots["source"]["dim"] == slots["target"]["dim"])
