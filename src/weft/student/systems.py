"""Teacher and student, each with its own search and with the other's, ready to translate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from weft.config.document import inline
from weft.engine.choice import Wish, made, reasons_against
from weft.engine.load import load_translator
from weft.engine.role import Engine
from weft.engine.translator import Translator
from weft.export.converted import Precision, convert
from weft.export.described import Described, Node, read_described
from weft.store.place import WEIGHTS
from weft.store.shortlist import has_shortlist
from weft.text.tokenizer import Tokenizer

PRECISION: Precision = "int8"


class System(NamedTuple):
    """A model with a search. translate: a line out for each line in. count: the tokens of such lines, ends counted."""

    model: str  # teacher or student
    search: str
    engine: str
    size: int  # bytes of weights
    translate: Callable[[Sequence[str]], list[str]]
    count: Callable[[Sequence[str]], int]


def systems_of(teacher: Path, student: Path, device: str) -> list[System]:
    """The teacher as it is used, the student as it is used; then both with the same search, where they differ; the
    student with its shortlist, if it has one.
    """
    models = {"teacher": read_described(teacher), "student": read_described(student)}
    searches = {name: described.config["translate"]["search"] for name, described in models.items()}
    own = [(name, searches[name]) for name in models]
    crossed = [("teacher", searches["student"]), ("student", searches["teacher"])]
    wanted = own if no_steps(models["teacher"]) else distinct([*own, *crossed])
    systems = [system(name, with_search(models[name], search), device) for name, search in wanted]
    listed = has_shortlist(models["student"].folder)
    return [*systems, system("student", models["student"], device, shortlist=True)] if listed else systems


def no_steps(described: Described) -> bool:
    """Is it a model whose outputs are read, not searched?"""
    return bool(described.model["decoder"]["type"] == "none")


def distinct(pairs: Sequence[tuple[str, Node]]) -> Iterator[tuple[str, Node]]:
    for number, pair in enumerate(pairs):
        if pair not in pairs[:number]:
            yield pair


def with_search(described: Described, search: Node) -> Described:
    translate = {**described.config["translate"], "search": search}
    return replace(described, config={**described.config, "translate": translate})


def system(name: str, described: Described, device: str, *, shortlist: bool = False) -> System:
    """With CTranslate2 in int8, if it would find the same but for that; else with torch."""
    read = no_steps(described)
    search = described.config["translate"]["reading" if read else "search"]

    def load() -> Translator:
        searching = [] if read else [f"translate.search={inline(search)}"]
        return load_translator(described.folder, device=device, overrides=searching, shortlist=shortlist)

    wish = Wish("auto", PRECISION, None, (), shortlist, device)
    slow = bool(reasons_against(described, wish))
    return System(
        name,
        f"{spoken(search)}, shortlist" if shortlist else spoken(search),
        "torch, float32" if slow else f"ctranslate2, {PRECISION}",
        (described.folder / WEIGHTS).stat().st_size if slow else converted_size(described),
        texts(load() if slow else made(described, wish, load).engine),
        lambda lines: tokens(described.target, lines),
    )


def texts(engine: Engine) -> Callable[[Sequence[str]], list[str]]:
    return lambda lines: [translation.text for translation in engine.stream(lines)]


def converted_size(described: Described) -> int:
    """Bytes of the model as CTranslate2 has it."""
    with TemporaryDirectory(prefix="weft-") as folder:
        convert(described, Path(folder), PRECISION)
        return (Path(folder) / "model.bin").stat().st_size


def spoken(search: Node) -> str:
    """beam 5, greedy."""
    return f"{search['type']} {search['size']}" if "size" in search else str(search["type"])


def tokens(tokenizer: Tokenizer, lines: Sequence[str]) -> int:
    return sum(len(row) + 1 for row in tokenizer.encode_rows(lines).split())
