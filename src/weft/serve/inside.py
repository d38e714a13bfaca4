"""What can be seen inside a model while it translates a line: one table, from which endpoints are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from weft.control.request import Request
from weft.core.errors import UserError
from weft.serve import seen
from weft.serve.bodies import Asked, Count
from weft.serve.limits import Limits
from weft.serve.manner import Manner
from weft.serve.records import Told
from weft.serve.refusal import contradiction, too_much
from weft.serve.served import Models
from weft.serve.v1 import Line, OneLine, check_lines, requested

if TYPE_CHECKING:
    from weft.engine.translator import Translator
    from weft.inspect.gradients import Flow

DIGITS = 5  # that are told of a number


class LookInside(Asked):
    """What is asked of /v1/inspect/...: a line, as /v1/stream takes it. others: of words, how many at each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: OneLine | Line
    model: Annotated[str | None, Field(description="Its name; the first of /v1/models, if none is given.")] = None
    beam: Count | None = None
    unit: Annotated[Literal["words", "pieces"], Field(description="Of attention.")] = "words"
    others: Annotated[Count, Field(description="Of words: how many could stand at each place.")] = 8
    gradients: Annotated[bool, Field(description="Of gates: these too, which takes longer.")] = False


See: TypeAlias = "Callable[[Translator, Request, LookInside], Told]"


@dataclass(frozen=True)
class Kind:
    """Something to be seen at /v1/inspect/NAME."""

    name: str
    summary: str
    record: type[Told]
    see: See


async def look_inside(kind: Kind, asked: LookInside, models: Models, limits: Limits) -> str:
    """The answer, as JSON."""
    check_lines([asked.line], limits)
    served, request = models.named(asked.model), requested(asked.line)
    for what, found, limit in (
        ("line", len(request.text) + len(request.prefix), limits.inspected),
        ("beam", asked.beam or 0, limits.beam),
        ("others", asked.others, limits.likeliest),
    ):
        if found > limit:
            raise too_much(what, found, limit)
    if request.protect:
        raise contradiction("line: protect may cut a line, so it is not one translation that could be looked at")
    return await served.look(partial(told, kind.see, request, asked), Manner(beam=asked.beam))


def told(see: See, request: Request, asked: LookInside, translator: Translator) -> str:
    """What is seen, as JSON."""
    return see(translator, request, asked).model_dump_json(exclude_none=False)


def see_words(translator: Translator, request: Request, asked: LookInside) -> seen.Words:
    from weft.inspect.places import places_of

    written = places_of(translator, request, asked.others)
    words = [
        seen.Place(
            name=place.name,
            text=place.text,
            pieces=list(place.pieces),
            scores=rounded(place.scores),
            others=[seen.Other(piece=one.piece, score=short(one.score), prefix=one.prefix) for one in place.others],
        )
        for place in written.places
    ]
    return seen.Words(text=written.text, score=short(written.score), words=words)


def see_attention(translator: Translator, request: Request, asked: LookInside) -> seen.Attention:
    from weft.inspect.heads import heads_of

    heads = heads_of(translator, request, asked.unit)
    return seen.Attention(
        text=heads.text,
        source=list(heads.source),
        target=list(heads.target),
        weights=matrix(heads.given),
        layers=[[matrix(head) for head in layer] for layer in heads.layers],
        remarks=list(heads.remarks),
    )


def see_search(translator: Translator, request: Request, _asked: LookInside) -> seen.Tree:
    from weft.inspect.searching import name, search
    from weft.inspect.tree import Outcomes

    found = search(translator, request)
    outcomes = Outcomes(found.steps, found.best)
    steps: list[list[seen.Node]] = []
    rows: dict[object, int] = {}
    for step in found.steps:
        texts = translator.trained.target_tokenizer.decode([[one.token for one in node.path()] for node in step])
        steps.append(
            [
                seen.Node(
                    piece=name(translator, node.token),
                    text=text,
                    score=round(node.score, DIGITS),
                    outcome=outcomes.of(node),
                    compared_by=short(node.rank) if node.fate == "finished" else None,
                    parent=None if node.parent is None else rows[node.parent],
                )
                for node, text in zip(step, texts, strict=True)
            ]
        )
        rows = {node: row for row, node in enumerate(step)}
    return seen.Tree(text=found.translated.translation.text, steps=steps)


def see_gates(translator: Translator, request: Request, asked: LookInside) -> seen.Gates:
    from weft.inspect import gates, gradients

    try:
        found = gates.gates(translator, request)
    except UserError:
        if not asked.gradients:
            raise
        found = []  # plain cells have none; those without any cell are refused below
    flows = gradients.gradients(translator, request) if asked.gradients else None
    told_gates = [
        seen.Gate(place=one.place, name=one.name, labels=list(one.labels), open=rounded(one.values.mean(1).tolist()))
        for one in found
    ]
    return seen.Gates(gates=told_gates, gradients=None if flows is None else [flow_record(one) for one in flows])


def flow_record(flow: Flow) -> seen.Flow:
    return seen.Flow(
        place=flow.place,
        labels=list(flow.labels),
        hidden=precise(flow.hidden.tolist()),
        cell=None if flow.cell is None else precise(flow.cell.tolist()),
        factor=flow.factor,
    )


def see_positions(translator: Translator, request: Request, _asked: LookInside) -> seen.Positions:
    from weft.inspect.positions import positions_of

    sides = [
        seen.Placed(side=one.side, labels=list(one.labels), vectors=matrix(one.vectors))
        for one in positions_of(translator, request)
    ]
    return seen.Positions(sides=sides)


def see_frames(translator: Translator, request: Request, _asked: LookInside) -> seen.Frames:
    from weft.inspect.frames import look

    found = look(translator, request.text)
    return seen.Frames(
        text=found.text,
        classes=list(found.classes),
        symbols=list(found.symbols),
        probabilities=matrix(found.probabilities),
    )


def matrix(values: Any) -> seen.Matrix:
    """An array [R,C] as lists."""
    rows: seen.Matrix = values.round(DIGITS).tolist()
    return rows


def rounded(values: Iterable[float]) -> Any:
    return [short(value) for value in values]


def precise(values: Sequence[float]) -> list[float | None]:
    """What goes over many powers of ten keeps them."""
    return [float(f"{value:.6g}") if isfinite(value) else None for value in values]


def short(value: float) -> float | None:
    """JSON has no infinity."""
    return round(value, DIGITS) if isfinite(value) else None


KINDS = (
    Kind("words", "How sure a model was of each word, and what else could stand there.", seen.Words, see_words),
    Kind("attention", "What each word looked at, in every layer and head.", seen.Attention, see_attention),
    Kind("search", "What the search kept, dropped and finished, as a tree.", seen.Tree, see_search),
    Kind("gates", "How far the gates of a recurrent model were open.", seen.Gates, see_gates),
    Kind("positions", "The vectors that tell where a piece stands.", seen.Positions, see_positions),
    Kind("frames", "What the frames of a lattice say.", seen.Frames, see_frames),
)
