"""What the run was trained on: the data table, the files, the tokenizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.config.document import inline
from weft.config.reader import describe
from weft.config.registry import REGISTRY
from weft.data.report import table as cells_of
from weft.engine.describe import slots_of, vocabularies
from weft.markup.elements import Html, element, join, table
from weft.report.document import Section
from weft.report.run.gathering import Gathered
from weft.report.run.held import WORDS, typical
from weft.report.run.opening import note
from weft.store.model_folder import Trained
from weft.text.reader import is_tokenizer
from weft.text.tokenizer import Tokenizer


def data(gathered: Gathered) -> Section:
    heads, *rows = cells_of(gathered.known.table)
    content = [table(heads, rows, "told"), *_files(gathered), element("h3", "Tokenizers"), *_tokenizers(gathered)]
    return Section("Data", "Data", content)


def _files(gathered: Gathered) -> list[Html]:
    """Which files they were."""
    settings = gathered.known.recipe.data
    rows = [
        element("div", join([element("dt", WORDS[name].removeprefix("the ")), element("dd", told)]))
        for name, corpora in settings.files().items()
        for told in [_named(corpora)]
    ]
    held = [f"{settings.hold_out:.1%} of the training pairs are held out for validation."] if settings.hold_out else []
    return [element("dl", join(rows), "facts"), *([note(*held)] if held and not settings.valid else [])]


def _named(corpora: Sequence[Sequence[Path]]) -> str:
    return "; ".join(" and ".join(map(str, files)) for files in corpora)


def _tokenizers(gathered: Gathered) -> Iterator[Html]:
    """What the recipe says of each side, how large they became, and a line in pieces."""
    node = describe(gathered.known.recipe, REGISTRY)["text"]
    sides = ["source and target"] if node["joint"] else ["source", "target"]
    makes = [node["source"], node["target"] or node["source"]]
    rows = [
        element("div", join([element("dt", side), element("dd", _spoken(make))]))
        for side, make in zip(sides, makes, strict=False)
    ]
    yield element("dl", join(rows), "facts")
    if gathered.trained is not None:
        yield note(
            f"The model knows {vocabularies(gathered.trained)}, the marks for padding, begin and end among them."
        )
        yield from _in_pieces(gathered, gathered.trained)


def _spoken(make: Mapping[str, Any]) -> str:
    """bpe, size 4000, ..."""
    return ", ".join([make["type"], *(f"{name} {inline(value)}" for name, value in make.items() if name != "type")])


def _in_pieces(gathered: Gathered, trained: Trained) -> Iterator[Html]:
    """A pair as the model sees it."""
    found = gathered.measured or gathered.foreseen
    for pair in typical([] if found is None else found.held.pairs, 1):
        readers = [trained.source_tokenizer, trained.target_tokenizer]
        shown = [
            _pieces(reader, line) for reader, line in zip(readers, pair, strict=True) if is_tokenizer(reader) and line
        ]
        yield join([note("A pair as the model sees it:" if len(shown) > 1 else "A line as the model sees it:"), *shown])


def _pieces(tokenizer: Tokenizer, line: str) -> Html:
    [ids] = tokenizer.encode([line])
    return element("p", join((element("span", piece) for piece in tokenizer.pieces(ids)), " "), "pieces")


def model(gathered: Gathered) -> Iterator[Section]:
    """Its parts and their sizes."""
    if gathered.trained is not None:
        slots = [slot for slot in slots_of(gathered.trained.model) if slot.parameters]
        rows = [[slot.name, slot.kind, f"{slot.parameters:,}"] for slot in slots]
        told = note("A weight that parts share is counted where it stands first.")
        yield Section("Model", "Model", [table(["part", "is", "parameters"], rows, "parts"), told])
