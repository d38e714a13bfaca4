"""What the teacher is to translate: the lines it was trained on, or lines that a person gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.data.lines import hash_file, read_lines, require_plain_file
from weft.student.distilling import Pair
from weft.text.rereading import Rereadable
from weft.text.settings import reads


@dataclass(frozen=True)
class Material:
    """Lines to translate, read anew in each loop over them, and what is known of them."""

    lines: Iterable[str]
    name: str  # of the files
    fingerprint: str
    told: str  # what they are, for a person
    pairs: Iterable[Pair]  # translations that people made, to be learned too


def material_of(teacher: Path, recipe: Recipe, files: tuple[Path, ...]) -> Material:
    """The given files; or, where none are given, the sources of the teacher's training data."""
    if reads(recipe.text) == "pictures":
        raise UserError(f"{teacher} reads pictures: a student can only be made of a model that reads text")
    return given(files) if files else trained_on(teacher, recipe)


def given(files: tuple[Path, ...]) -> Material:
    for file in files:
        require_plain_file(file)
    lines = Rereadable(lambda: chain.from_iterable(map(read_lines, files)))
    whole = blake2b(digest_size=16)
    for file in files:
        whole.update(hash_file(file))
    named = " + ".join(map(str, files))
    return Material(lines, named, whole.hexdigest(), f"the lines of {named}", ())


def trained_on(teacher: Path, recipe: Recipe) -> Material:
    corpus = training_data(teacher, recipe)
    lines = Rereadable(lambda: (source for source, _ in corpus.pairs()))
    told = "the sources that it was trained on"
    return Material(lines, str(corpus), corpus.fingerprint(), told, corpus.pairs())


def training_data(teacher: Path, recipe: Recipe) -> Corpus:
    """Where it was, if it is still there."""
    try:
        corpus = recipe.data.splits()["train"]
        corpus.fingerprint()
    except UserError as error:
        raise UserError(
            f"the data that {teacher} was trained on cannot be read: {error}. "
            "Put it back, or give text in the source language: --source FILE"
        ) from error
    return corpus


def require_held_out(teacher: str, recipe: Recipe) -> None:
    """What it was validated on, and its student is to be, is a part of its training data."""
    try:
        recipe.data.splits()["valid"].fingerprint()
    except UserError as error:
        raise UserError(
            f"the pairs that {teacher} was validated on cannot be read: {error}. "
            "Put them back, or name others for its student: data.valid=[FILE,FILE]"
        ) from error


def require_lines(material: Material) -> int:
    """How many lines there are; some must say something."""
    kinds = Counter(bool(line.strip()) for line in material.lines)
    if not kinds[True]:
        raise UserError(f"{material.name}: there is no line to translate in it")
    return kinds.total()
