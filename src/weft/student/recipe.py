"""The recipe of a student: the teacher's settings, but for what makes a step of the search cheap.

Kasai et al. 2021: the encoder reads a sentence once, the decoder runs for every token. So layers are moved from the
decoder, which keeps one, to the encoder, and the model is about as good as before. What the student has is what
CTranslate2 can run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from weft.choosing.recipe import as_document, as_lines, as_yaml
from weft.choosing.rules import Choice
from weft.config.document import Plain
from weft.config.load import load_recipe
from weft.config.overrides import apply_overrides
from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.student.folder import StudentFolder
from weft.training.initial import settings as settings_of
from weft.training.start import length

ENCODER_LAYERS, DECODER_LAYERS = 6, 1
MINUTES = 60.0  # where neither the command nor the teacher's recipe says how long
TITLE = "Chosen by weft for a student of {}. Train it again with: weft train THIS_FILE --out FOLDER"


class Written(NamedTuple):
    """A recipe; why it is as it is, for a person; and as a file to edit."""

    recipe: Recipe
    lines: str
    yaml: str


class Shape(NamedTuple):
    """Of a Transformer."""

    dim: int = 256
    heads: int = 4
    hidden: int = 1024
    norm: str = "pre"
    activation: str = "relu"
    dropout: float = 0.1
    peak: float = 2e-3  # of the learning rate


def student_recipe(
    teacher: Recipe, name: str, folder: StudentFolder, settings: Sequence[str], minutes: float | None, told: str
) -> Written:
    """The choices, with what a person has set otherwise. name: the teacher's folder. told: what it translates."""
    node = describe(teacher, REGISTRY)
    places = {setting.partition("=")[0].strip() for setting in settings}
    if taken := places & {"data.train", "data.folder"}:
        raise UserError(
            f"{min(taken)} is set, but a student learns what its teacher says: to choose that, --source FILE"
        )
    chosen = [*data(teacher, folder, told), *text(node), *model(node), *training(node, folder), *translating(node)]
    choices = [choice for choice in chosen if choice.place not in places]
    document = apply_overrides(as_document(choices), [*length(minutes, settings), *settings])
    yaml = as_yaml(document, choices, TITLE.format(name))
    recipe = load_recipe(document)
    check_tokenizers(recipe, teacher)
    return Written(recipe, as_lines(choices, "chosen from the teacher:"), yaml)


def check_tokenizers(student: Recipe, teacher: Recipe) -> None:
    """Those of the teacher are taken over: no setting makes others of them."""
    here, there = settings_of(student), settings_of(teacher)
    for place in sorted({*here, *there}):
        if place.startswith("text.") and here.get(place) != there.get(place):
            raise UserError(f"{place} is set, but a student has the tokenizers of its teacher: leave it out")


def data(teacher: Recipe, folder: StudentFolder, told: str) -> Iterator[Choice]:
    """The files to learn from, and for the rest those of the teacher."""
    named = {name: [str(path) for path in corpora[0]] for name, corpora in teacher.data.files().items()}
    if teacher.data.hold_out and not teacher.data.valid:
        named["valid"] = [str(folder.held_out)]
    yield Choice("data.train", [str(folder.pairs)], f"what the teacher makes of {told}")
    for name in ("valid", "test"):
        yield Choice(f"data.{name}", list(named.get(name, [])))
    yield Choice("data.fields", list(teacher.data.fields))
    yield Choice("data.max_length", teacher.data.max_length)
    yield Choice("data.max_ratio", teacher.data.max_ratio)
    yield Choice("data.drop_duplicates", teacher.data.drop_duplicates)
    yield Choice("data.cache", teacher.data.cache)


def text(node: dict[str, Any]) -> Iterator[Choice]:
    for number, (name, value) in enumerate(node["text"].items()):
        yield Choice(f"text.{name}", value, "as the teacher's, whose tokenizers are taken over" if not number else None)


def model(node: dict[str, Any]) -> Iterator[Choice]:
    """Deep encoder, shallow decoder."""
    shape = shape_of(node)
    embedding: dict[str, Plain] = {
        "type": "tokens",
        "dim": shape.dim,
        "positions": "sinusoidal",
        "dropout": shape.dropout,
    }
    part: dict[str, Plain] = {
        "heads": shape.heads,
        "hidden": shape.hidden,
        "norm": shape.norm,
        "activation": shape.activation,
        "dropout": shape.dropout,
    }
    same = is_transformer(node)
    yield Choice("model.source", embedding, f"{shape.dim} wide, {'as the teacher' if same else 'a small Transformer'}")
    deep: dict[str, Plain] = {"type": "transformer", "layers": ENCODER_LAYERS, **part}
    yield Choice("model.encoder", deep, f"{ENCODER_LAYERS} layers: a sentence goes through them once")
    yield Choice("model.target", embedding)
    shallow: dict[str, Plain] = {"type": "transformer", "layers": DECODER_LAYERS, **part}
    yield Choice("model.decoder", shallow, "one layer, since every token waits for it (Kasai et al. 2021)")
    yield Choice("model.tie", node["model"]["tie"] if same else "all" if node["text"]["joint"] else "output")


def training(node: dict[str, Any], folder: StudentFolder) -> Iterator[Choice]:
    """As the teacher's, where that says something of a Transformer.

    Left to their defaults, whatever the teacher has: the objective, since the data says what the teacher would; the
    precision, which follows from the machine; what is frozen, and how weights lie over ranks, since a student is small.
    """
    settings = node["train"]
    told = "the tokenizers of the teacher, and those of its weights that fit"
    yield Choice("train.start", str(folder.start), told)
    yield Choice("train.seed", settings["seed"])
    steps: int | None = settings["steps"]
    yield Choice("train.steps", steps, None if steps is None else f"{steps:,} updates, as many as the teacher had")
    yield Choice("train.minutes", MINUTES if steps is None else None)
    yield Choice("train.batch_tokens", settings["batch_tokens"])
    yield Choice("train.accumulate", settings["accumulate"])
    yield Choice("train.clip", settings["clip"])
    if is_transformer(node):  # else the rate is not the teacher's
        yield Choice("train.optimiser", settings["optimiser"])
    schedule: dict[str, Plain] = {
        "type": "warmup-stable-decay",
        "peak": shape_of(node).peak,
        "warmup": 200,
        "decay": 0.6,
    }
    half = "half of the teacher's rate, since most weights are not new" if is_transformer(node) else None
    yield Choice("train.schedule", schedule, half)
    yield Choice("train.average", {"type": "exponential", "decay": 0.998}, "an average of the last weights is kept")
    yield Choice("train.validation", settings["validation"] | {"search": "greedy"})
    for name in ("checkpoint_steps", "checkpoint_minutes", "log_every"):
        yield Choice(f"train.{name}", settings[name])


def translating(node: dict[str, Any]) -> Iterator[Choice]:
    yield Choice("translate.search", "greedy", "greedy: what a beam finds is in the data already (Kim & Rush 2016)")
    for name in ("length_factor", "length_extra", "batch_tokens", "window"):
        yield Choice(f"translate.{name}", node["translate"][name])


def is_transformer(node: dict[str, Any]) -> bool:
    """Does the teacher have widths that a student can have, too?"""
    slots = node["model"]
    kinds = [slots[name]["type"] for name in ("source", "encoder", "target", "decoder")]
    return kinds == ["tokens", "transformer"] * 2 and bool(slots["source"]["dim"] == slots["target"]["dim"])


def shape_of(node: dict[str, Any]) -> Shape:
    """The teacher's, as far as it can be run by CTranslate2; of one that is no Transformer, a small one."""
    if not is_transformer(node):
        return Shape()
    encoder, decoder = node["model"]["encoder"], node["model"]["decoder"]
    return Shape(
        node["model"]["source"]["dim"],
        decoder["heads"],
        decoder["hidden"],
        encoder["norm"],
        encoder["activation"] if encoder["activation"] in ("relu", "gelu") else "relu",
        encoder["dropout"],
        node["train"]["schedule"]["peak"] / 2,
    )
