"""Why a model cannot go to CTranslate2: every reason there is, since a person who knows one asks for the next.

What is listed here was compared with torch (tests/laws/test_engines.py); whatever is not, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.export.described import Described, Node

ACTIVATIONS = ("relu", "gelu", "swiglu")
MERGES = ("sum", "mean")


def refusals(described: Described) -> list[str]:
    """The reasons, in the order of the slots; none if the model can go."""
    slots = described.model
    return [
        *_source(described),
        *_embedding("source", slots["source"]),
        *_stack("encoder", slots["encoder"], slots["source"]),
        *_embedding("target", slots["target"]),
        *_stack("decoder", slots["decoder"], slots["target"]),
        *_others(slots),
    ]


def _source(described: Described) -> Iterator[str]:
    if described.source.reads == "pictures":
        yield "text.source is picture: it reads text alone"


def _embedding(slot: str, node: Node) -> Iterator[str]:
    if node["type"] != "tokens":
        yield f"model.{slot} is {node['type']}: it has a vector for each token (tokens)"
    elif node["positions"] is not None and node["merge"] not in MERGES:
        yield f"model.{slot}.merge is {node['merge']}: it adds the vectors of positions (sum, mean)"


def _stack(slot: str, node: Node, embedding: Node) -> Iterator[str]:
    if node["type"] != "transformer":
        yield f"model.{slot} is {node['type']}: it has Transformers alone"
        return
    match embedding:
        case {"positions": dict()} if node["rotary"]:
            yield f"model.{slot}.rotary is true, and the embedding has positions too: it has one of the two"
    if node["reach"] is not None:
        yield f"model.{slot}.reach is {node['reach']}: every position sees all others"
    if node["activation"] not in ACTIVATIONS:
        yield f"model.{slot}.activation is {node['activation']}: it is one of {', '.join(ACTIVATIONS)}"


def _others(slots: Node) -> Iterator[str]:
    if slots["head"]["type"] != "linear":
        yield f"model.head is {slots['head']['type']}: it is linear"
    if slots["lattice"] is not None:
        yield f"model.lattice is {slots['lattice']['type']}: outputs are said by a decoder alone"
