"""A Transformer of Weft as two graphs: what reads a source, and what makes a step.

All that decides what it says is in them: its own positions as a table, the scale of embeddings, the place of norms and
their epsilon. The names of the weights are those of the model folder. What the first graph gives out is the state
before the first step; the second gives out, with `after.` before their names, those parts of it that change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from weft.core.marks import PAD
from weft.export.described import Described, Node, Weights
from weft.export.onnx.graph import Graph, Value
from weft.export.places import places_needed, sinusoidal, turns

EPSILON = 1e-5  # of nn.LayerNorm
BIAS = "bias"
STEPS = "steps"


class Graphs(NamedTuple):
    encoder: Graph
    step: Graph


@dataclass(frozen=True)
class Stack:
    """One side of a model: an embedding and the layers above it, in a graph."""

    graph: Graph
    weights: Weights
    places: int
    slot: str  # encoder or decoder
    node: Node
    embedding_slot: str  # source or target
    embedding: Node

    @property
    def heads(self) -> int:
        return int(self.node["heads"])

    @property
    def width(self) -> int:
        """Of the vectors between the layers."""
        doubled = self.embedding["positions"] is not None and self.embedding["merge"] == "concat"
        return int(self.embedding["dim"]) * (2 if doubled else 1)

    def linear(self, x: Value, name: str) -> Value:
        name = f"{self.slot}.{name}"
        return self.graph.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"), name)

    def norm(self, x: Value, name: str) -> Value:
        parts = [
            self.graph.weight(f"{self.slot}.{name}.{kind}", self._found(name, kind)) for kind in ("weight", "bias")
        ]
        return self.graph.op("LayerNormalization", x, *parts, settings={"axis": -1, "epsilon": EPSILON})

    def _found(self, name: str, kind: str) -> NDArray[np.float32]:
        return self.weights[f"{self.slot}.{name}.{kind}"]

    def embed(self, tokens: Value, index: Value) -> Value:
        """The vectors of tokens [B,T] at the places `index`, [T] or [B,1]."""
        graph, slot, node = self.graph, self.embedding_slot, self.embedding
        x = graph.op("Gather", graph.weight(f"{slot}.weight", self.weights[f"{slot}.weight"]), tokens)
        if node["scaled"]:
            x = graph.op("Mul", x, graph.number(float(np.float32(node["dim"] ** 0.5))))
        if node["positions"] is None:
            return x
        table = graph.weight(f"{slot}.places", self._table())
        return self._merged(x, graph.op("Gather", table, index))

    def _table(self) -> NDArray[np.float32]:
        if self.embedding["positions"]["type"] == "learned":
            return self.weights[f"{self.embedding_slot}.placing.positions.table"]
        return sinusoidal(self.places, self.embedding["dim"])

    def _merged(self, x: Value, places: Value) -> Value:
        graph = self.graph
        match self.embedding["merge"]:
            case "concat":
                spread = graph.op("Expand", places, graph.op("Shape", x))
                return graph.op("Concat", x, spread, settings={"axis": -1})
            case "mean":
                return graph.op("Mul", graph.op("Add", x, places), graph.number(0.5))
        return graph.op("Add", x, places)

    def split_heads(self, x: Value) -> Value:
        """[B,T,H D] -> [B,H,T,D]."""
        parted = self.graph.op("Reshape", x, self.graph.whole(0, 0, self.heads, -1))
        return self.graph.op("Transpose", parted, settings={"perm": [0, 2, 1, 3]})

    def join_heads(self, x: Value) -> Value:
        """[B,H,T,D] -> [B,T,H D]."""
        joined = self.graph.op("Transpose", x, settings={"perm": [0, 2, 1, 3]})
        return self.graph.op("Reshape", joined, self.graph.whole(0, 0, -1))

    def turned(self, x: Value, index: Value) -> Value:
        """Rotary positions: x [B,H,T,D] turned by its places, [T] or [B,1]; column i with i + D/2."""
        graph, half = self.graph, self.width // self.heads // 2
        cos, sin = (
            graph.op("Gather", graph.weight(f"{self.slot}.{name}", table), index)
            for name, table in zip(("cos", "sin"), turns(self.places, 2 * half), strict=True)
        )
        if self.slot == "decoder":  # [B,1,D/2], a place for each row
            cos, sin = (graph.op("Unsqueeze", part, graph.whole(1)) for part in (cos, sin))
        left, right = graph.node("Split", x, graph.whole(half, half), several=2, settings={"axis": -1})
        parts = [
            graph.op("Sub", graph.op("Mul", left, cos), graph.op("Mul", right, sin)),
            graph.op("Add", graph.op("Mul", left, sin), graph.op("Mul", right, cos)),
        ]
        return graph.op("Concat", *parts, settings={"axis": -1})

    def projected(self, x: Value, name: str, index: Value) -> tuple[Value, Value, Value]:
        """Queries, keys and values of a layer [B,H,T,D]."""
        whole = self.linear(x, f"{name}.attention.project")
        width = self.width
        parts = self.graph.node("Split", whole, self.graph.whole(width, width, width), several=3, settings={"axis": -1})
        query, keys, values = (self.split_heads(part) for part in parts)
        if self.node["rotary"]:
            query, keys = self.turned(query, index), self.turned(keys, index)
        return query, keys, values

    def attend(self, query: Value, keys: Value, values: Value, bias: Value | None) -> Value:
        """softmax(q k / sqrt(D) + bias) v, the heads joined."""
        graph = self.graph
        scaled = graph.op("Mul", query, graph.number((self.width // self.heads) ** -0.5))
        scores = graph.op("MatMul", scaled, graph.op("Transpose", keys, settings={"perm": [0, 1, 3, 2]}))
        scores = scores if bias is None else graph.op("Add", scores, bias)
        weights = graph.op("Softmax", scores, settings={"axis": -1})
        return self.join_heads(graph.op("MatMul", weights, values))

    def enter(self, x: Value, name: str) -> Value:
        return self.norm(x, f"{name}.norm") if self.node["norm"] == "pre" else x

    def leave(self, x: Value, y: Value, name: str) -> Value:
        total = self.graph.op("Add", x, y)
        return total if self.node["norm"] == "pre" else self.norm(total, f"{name}.norm")

    def feedforward(self, x: Value, name: str) -> Value:
        around = f"{name}.around_feedforward"
        up = self.linear(self.enter(x, around), f"{name}.feedforward.up")
        return self.leave(x, self.linear(self._activated(up), f"{name}.feedforward.down"), around)

    def _activated(self, x: Value) -> Value:
        graph = self.graph
        match self.node["activation"]:
            case "relu":
                return graph.op("Relu", x)
            case "gelu":
                erf = graph.op("Erf", graph.op("Mul", x, graph.number(0.5**0.5)))
                return graph.op("Mul", graph.op("Mul", x, graph.number(0.5)), graph.op("Add", erf, graph.number(1.0)))
        half = self.node["hidden"]
        gate, value = graph.node("Split", x, graph.whole(half, half), several=2, settings={"axis": -1})
        return graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), value)

    def left(self, x: Value) -> Value:
        return self.norm(x, "norm") if self.node["norm"] == "pre" else x


def transformer_graphs(described: Described) -> Graphs:
    """The graphs of a model that has no `refusals`."""
    slots, weights, places = described.model, described.weights(), places_needed(described)
    encoder, step = Graph("encoder"), Graph("step")
    reading = Stack(encoder, weights, places, "encoder", slots["encoder"], "source", slots["source"])
    beginning = Stack(encoder, weights, places, "decoder", slots["decoder"], "target", slots["target"])
    stepping = Stack(step, weights, places, "decoder", slots["decoder"], "target", slots["target"])
    read(reading, beginning)
    take_step(stepping, described.target.size)
    return Graphs(encoder, step)


def read(stack: Stack, decoder: Stack) -> None:
    """source [B,S] -> keys and values of each layer of the decoder, and what it carries before its first step."""
    graph = stack.graph
    source = graph.input("source", ["batch", "source"], TensorProto.INT64)
    index = graph.op("Range", *scalars(graph, 0), graph.op("Squeeze", graph.size(source, 1)), *scalars(graph, 1))
    padding = graph.op("Equal", source, graph.whole(PAD))
    never = graph.op("Where", padding, graph.number(float("-inf")), graph.number(0.0))
    bias = graph.op("Unsqueeze", never, graph.whole(1, 2))  # [B,1,1,S]
    x = encoded(stack, stack.embed(source, index), index, bias)
    for number in range(decoder.node["layers"]):
        for name, kind in (("key", "keys"), ("value", "values")):
            made = decoder.split_heads(decoder.linear(x, f"layers.{number}.across.{name}"))
            graph.output(f"{kind}.{number}", made, ["batch", decoder.heads, "source", decoder.width // decoder.heads])
    graph.output(BIAS, bias, ["batch", 1, 1, "source"])
    begin(decoder, graph.size(source, 0))


def encoded(stack: Stack, x: Value, index: Value, bias: Value) -> Value:
    """All layers of the encoder."""
    allowed = bias if stack.node["reach"] is None else within_reach(stack.graph, index, bias, stack.node["reach"])
    for number in range(stack.node["layers"]):
        name = f"layers.{number}"
        around = f"{name}.around_attention"
        context = stack.attend(*stack.projected(stack.enter(x, around), name, index), allowed)
        x = stack.feedforward(stack.leave(x, stack.linear(context, f"{name}.attention.out"), around), name)
    return stack.left(x)


def within_reach(graph: Graph, index: Value, bias: Value, reach: int) -> Value:
    """The bias with minus infinity where a position is further away than the reach, and 0 where it meets itself, since
    one in the padding meets nobody else [B,1,S,S].
    """
    rows, columns = (graph.op("Unsqueeze", index, graph.whole(axis)) for axis in (1, 0))
    apart = graph.op("Abs", graph.op("Sub", rows, columns))
    far, itself = graph.op("Greater", apart, graph.whole(reach)), graph.op("Equal", apart, graph.whole(0))
    near = graph.op("Where", far, graph.number(float("-inf")), bias)
    return graph.op("Where", itself, graph.number(0.0), near)


def begin(decoder: Stack, batch: Value) -> None:
    """No positions yet. batch: how many rows, [1]."""
    graph, width = decoder.graph, decoder.width // decoder.heads
    shape = graph.op("Concat", batch, graph.whole(decoder.heads, 0, width), settings={"axis": 0})
    empty = graph.op("Expand", graph.weight("nothing", np.zeros((1, 1, 0, 1), np.float32)), shape)
    for number in range(decoder.node["layers"]):
        for kind in ("past_keys", "past_values"):
            graph.output(f"{kind}.{number}", empty, ["batch", decoder.heads, "past", width])
    steps = graph.op("Expand", graph.whole(0), batch)
    graph.output(STEPS, steps, ["batch"], TensorProto.INT64)


def take_step(stack: Stack, classes: int) -> None:
    """token [B] and the state -> the log-probabilities of the next token [B,V], and what has changed."""
    graph, width = stack.graph, stack.width // stack.heads
    tokens = graph.op("Unsqueeze", graph.input("token", ["batch"], TensorProto.INT64), graph.whole(1))
    steps = graph.input(STEPS, ["batch"], TensorProto.INT64)
    bias = graph.input(BIAS, ["batch", 1, 1, "source"])
    index = graph.op("Unsqueeze", steps, graph.whole(1))  # [B,1]
    x = stack.embed(tokens, index)
    for number in range(stack.node["layers"]):
        keys, values, past_keys, past_values = (
            graph.input(f"{kind}.{number}", ["batch", stack.heads, along, width])
            for kind, along in (
                ("keys", "source"),
                ("values", "source"),
                ("past_keys", "past"),
                ("past_values", "past"),
            )
        )
        x = look_back(stack, x, index, (past_keys, past_values), number)
        x = stack.feedforward(look_across(stack, x, keys, values, bias, number), f"layers.{number}")
    graph.output(f"after.{STEPS}", graph.op("Add", steps, graph.whole(1)), ["batch"], TensorProto.INT64)
    hidden = graph.op("Squeeze", stack.left(x), graph.whole(1))
    logits = graph.linear(hidden, stack.weights["head.weight"], stack.weights.get("head.bias"), "head")
    graph.output("log_probs", graph.op("LogSoftmax", logits, settings={"axis": -1}), ["batch", classes])


def look_back(stack: Stack, x: Value, index: Value, past: tuple[Value, Value], number: int) -> Value:
    """Self-attention to the steps so far and to this one, which are given out for the next."""
    graph, name, width = stack.graph, f"layers.{number}", stack.width // stack.heads
    around = f"{name}.around_attention"
    query, *new = stack.projected(stack.enter(x, around), name, index)
    keys, values = (graph.op("Concat", old, one, settings={"axis": 2}) for old, one in zip(past, new, strict=True))
    for kind, value in (("past_keys", keys), ("past_values", values)):
        kept = value if stack.node["reach"] is None else last(graph, value, stack.node["reach"])
        graph.output(f"after.{kind}.{number}", kept, ["batch", stack.heads, "kept", width])
    context = stack.attend(query, keys, values, None)
    return stack.leave(x, stack.linear(context, f"{name}.attention.out"), around)


def last(graph: Graph, value: Value, count: int) -> Value:
    """The last so many positions of [B,H,T,D]."""
    return graph.op("Slice", value, graph.whole(-count), graph.whole(np.iinfo(np.int64).max), graph.whole(2))


def look_across(stack: Stack, x: Value, keys: Value, values: Value, bias: Value, number: int) -> Value:
    name = f"layers.{number}"
    around = f"{name}.around_across"
    query = stack.split_heads(stack.linear(stack.enter(x, around), f"{name}.across.query"))
    context = stack.attend(query, keys, values, bias)
    return stack.leave(x, stack.linear(context, f"{name}.across.out"), around)


def scalars(graph: Graph, *values: int) -> list[Value]:
    return [graph.weight(f"scalar {value}", np.array(value, np.int64)) for value in values]
