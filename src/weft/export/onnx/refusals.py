"""Why a model cannot go to ONNX: every reason there is. What is not listed here was compared with torch."""

from __future__ import annotations

from collections.abc import Iterator

from weft.export.described import Described, Node


def refusals(described: Described) -> list[str]:
    """The reasons, in the order of the slots; none if the model can go."""
    return [*_source(described), *refused_slots(described.model)]


def refused_slots(slots: Node) -> list[str]:
    """Those that the parts of a model are."""
    return [
        *(reason for slot in ("source", "target") for reason in _embedding(slot, slots[slot])),
        *(reason for slot in ("encoder", "decoder") for reason in _stack(slot, slots[slot])),
        *_others(slots),
    ]


def _source(described: Described) -> Iterator[str]:
    if described.source.reads == "pictures":
        yield "text.source is picture: only models that read text can go"


def _embedding(slot: str, node: Node) -> Iterator[str]:
    if node["type"] != "tokens":
        yield f"model.{slot} is {node['type']}: only a vector for each token (tokens) can go"


def _stack(slot: str, node: Node) -> Iterator[str]:
    if node["type"] != "transformer":
        yield f"model.{slot} is {node['type']}: only Transformers can go"


def _others(slots: Node) -> Iterator[str]:
    if slots["head"]["type"] != "linear":
        yield f"model.head is {slots['head']['type']}: only a linear one can go"
    if slots["lattice"] is not None:
        yield f"model.lattice is {slots['lattice']['type']}: only outputs that a decoder says can go"
