"""The recipe of a student: the teacher's settings with a deep encoder and a one-layer decoder (Kasai et al. 2021),
limited to what CTranslate2 can run.
"""

from collections.abc import Sequence
from typing import Any

from weft.config.recipe import Recipe
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.data.data_config import DataConfig
from weft.training.commented_recipe import CommentedRecipe, make_commented_recipe, refuse_settings, warmup_stable_decay
from weft.training.run_folder import PreparedRunFolder
from weft.training.time_budget import length_overrides
from weft.training.warm_start import weight_setting_differences

ENCODER_LAYERS, DECODER_LAYERS = 6, 1
DEFAULT_STUDENT_MINUTES = 60.0  # if neither the user nor the teacher's recipe sets the length
DEFAULT_SETTINGS = ("keep_optimizer", "freeze", "precision", "parallel", "optimizer", "tensorboard")
COPIED_DECODING_SETTINGS = ("max_length_factor", "max_length_extra", "batch_tokens", "buffer_size")
RESERVED_SETTINGS = dict.fromkeys(
    ("data.train", "data.folder"),
    "a student learns its teacher's translations, and --source FILE chooses what is translated",
)
# For teachers that are not Transformers:
DEFAULT_DIM, DEFAULT_LEARNING_RATE = 256, 2e-3
DEFAULT_STACK = {"heads": 4, "ffn_dim": 1024, "norm": "pre", "activation": "relu", "dropout": 0.1}


def make_student_recipe(
    teacher: Recipe,
    name: str,
    folder: PreparedRunFolder[Any],
    settings: Sequence[str],
    minutes: float | None,
    transfer_set: str,
) -> CommentedRecipe:
    """Choose the recipe. name: the teacher's folder. transfer_set: a description of the lines it translates."""
    refuse_settings(settings, RESERVED_SETTINGS)
    node = to_dict(teacher)
    slots = node["model"]
    # Whether the teacher is a Transformer whose widths a student can have
    types = [slots[name]["type"] for name in ("source", "encoder", "target", "decoder")]
    same = types == ["tokens", "transformer"] * 2 and slots["source"]["dim"] == slots["target"]["dim"]
    training, reasons = _choose_training(node["train"], folder, same_model=same)
    model, model_reasons = _choose_model(node, same_widths=same)
    document = {
        "data": node["data"] | _change_data(teacher.data, folder),
        "text": node["text"],
        "model": model,
        "train": training,
        "translate": {"search": "greedy", **{key: node["translate"][key] for key in COPIED_DECODING_SETTINGS}},
    }
    reasons = {
        "data.train": f"the teacher's translations of {transfer_set}",
        "text.source": "as the teacher's, whose tokenizers are used",
        **model_reasons,
        **reasons,
        "translate.search": "greedy: the data contains what a beam finds (Kim & Rush 2016)",
    }
    overrides = [*length_overrides(minutes, settings), *settings]
    heading, purpose = "chosen from the teacher:", f"a student of {name}"
    chosen = make_commented_recipe(document, reasons, overrides, heading=heading, purpose=purpose)
    for place, *_ in weight_setting_differences(chosen.recipe, teacher):
        if place.startswith("text."):
            raise UserError(f"{place} is set, but a student has the tokenizers of its teacher: omit it")
    return chosen


def _change_data(data: DataConfig, folder: PreparedRunFolder[Any]) -> dict[str, Any]:
    """Return the data settings that differ from the teacher's."""
    files = {name: [str(path) for path in corpora[0]] for name, corpora in data.files().items()}
    if data.validation_fraction and not data.valid:
        files["valid"] = [str(folder.pairs("valid"))]
    held_out = {name: files.get(name, []) for name in ("valid", "test")}
    return {"folder": "", "train": [str(folder.pairs("train"))], "mix": [], **held_out, "validation_fraction": 0.0}


def _choose_model(node: dict[str, Any], *, same_widths: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a deep encoder and a shallow decoder, with the widths of a teacher that is a Transformer, and reasons."""
    slots, dim, stack = node["model"], DEFAULT_DIM, DEFAULT_STACK
    if same_widths:
        encoder, decoder = slots["encoder"], slots["decoder"]
        dim, stack = slots["source"]["dim"], {name: decoder[name] for name in ("heads", "ffn_dim")}
        stack |= {name: encoder[name] for name in ("norm", "activation", "dropout")}
        if stack["activation"] not in ("relu", "gelu"):
            stack["activation"] = "relu"
    embedding = {"type": "tokens", "dim": dim, "positions": "sinusoidal", "dropout": stack["dropout"]}
    model = {
        "source": embedding,
        "encoder": {"type": "transformer", "layers": ENCODER_LAYERS, **stack},
        "target": embedding,
        "decoder": {"type": "transformer", "layers": DECODER_LAYERS, **stack},
        "tie": slots["tie"] if same_widths else "all" if node["text"]["joint"] else "output",
    }
    return model, {
        "model.source": f"{dim} wide, {'as the teacher' if same_widths else 'a small Transformer'}",
        "model.encoder": f"{ENCODER_LAYERS} layers: a sentence is encoded only once",
        "model.decoder": "one layer, since it runs for every token (Kasai et al. 2021)",
    }


def _choose_training(
    node: dict[str, Any], folder: PreparedRunFolder[Any], *, same_model: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the teacher's settings, as far as they suit a Transformer, and reasons.

    These keep their defaults: the objective, since the data contains the teacher's knowledge; the precision, which
    depends on the machine; freezing and the parallel strategy, since a student is small.
    """
    steps: int | None = node["steps"]
    learning_rate = node["schedule"]["learning_rate"] / 2 if same_model else DEFAULT_LEARNING_RATE
    training = {name: value for name, value in node.items() if name not in DEFAULT_SETTINGS} | {
        "initial_model": str(folder.initial_model),
        "minutes": DEFAULT_STUDENT_MINUTES if steps is None else None,
        "schedule": warmup_stable_decay(learning_rate, 200),
        "average": {"type": "exponential", "decay": 0.998},
        "validation": node["validation"] | {"search": "greedy"},
    }
    reasons = {"train.initial_model": "the teacher's tokenizers, and those of its weights that fit"}
    if steps is not None:
        reasons["train.steps"] = f"{steps:,} updates, as for the teacher"
    if same_model:  # otherwise the learning rate is not the teacher's
        training["optimizer"] = node["optimizer"]
        reasons["train.schedule"] = "half of the teacher's learning rate, since most weights are not new"
    return training, reasons | {"train.average": "an average of the last weights is used"}
