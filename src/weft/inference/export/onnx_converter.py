"""Converts a Transformer to two ONNX graphs: source -> initial state; token, state -> log-probabilities, state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NewType

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from weft.checkpoints.model_folder import ModelFolder, NumpyWeights, RecipeNode
from weft.core.special_tokens import PAD
from weft.inference.export.position_tables import LAYER_NORM_EPSILON, position_count, rotary_tables, sinusoidal_table

OPSET_VERSION = 17  # the first with LayerNormalization
IR_VERSION = 8  # of the same time
ATTENTION_BIAS, STEP_COUNT = "bias", "steps"  # parts of the state

TensorName = NewType("TensorName", str)
Dimensions = Sequence[int | str]  # a name stands for a size that is known only at run time


@dataclass
class OnnxGraph:
    """Nodes in the order in which they are computed, and their constants. weights: named as in the model folder."""

    name: str
    weights: NumpyWeights
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def input(self, name: str, shape: Dimensions, kind: int = TensorProto.FLOAT) -> TensorName:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return TensorName(name)

    def output(self, name: str, value: TensorName, shape: Dimensions, kind: int = TensorProto.FLOAT) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def constant(self, name: str, array: NDArray[Any]) -> TensorName:
        """A constant, stored once under its name."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(array.copy(order="C"), name)
        return TensorName(name)

    def number(self, value: float) -> TensorName:
        return self.constant(f"number {value!r}", np.array(value, np.float32))

    def scalar(self, value: int) -> TensorName:
        return self.constant(f"scalar {value}", np.array(value, np.int64))

    def integers(self, *values: int) -> TensorName:
        """A vector of integers."""
        return self.constant(f"integers {' '.join(map(str, values))}", np.array(values, np.int64))

    def op(self, kind: str, *inputs: TensorName, settings: Mapping[str, Any] | None = None) -> TensorName:
        """An operator with one output."""
        name = TensorName(f"{kind} {len(self.nodes)}.0")
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **(settings or {})))
        return name

    def split(self, x: TensorName, *sizes: int) -> list[TensorName]:
        """x in parts of these sizes along its last axis."""
        names = [TensorName(f"Split {len(self.nodes)}.{number}") for number in range(len(sizes))]
        self.nodes.append(helper.make_node("Split", [x, self.integers(*sizes)], list(names), axis=-1))
        return names

    def size(self, x: TensorName, axis: int) -> TensorName:
        """The size of an axis, [1]."""
        return self.op("Gather", self.op("Shape", x), self.integers(axis))

    def weight(self, name: str) -> TensorName:
        return self.constant(name, self.weights[name])

    def linear(self, x: TensorName, name: str) -> TensorName:
        """W x + b, for x [...,I]."""
        product = self.op("MatMul", x, self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T))
        return self.op("Add", product, self.weight(f"{name}.bias")) if f"{name}.bias" in self.weights else product

    @property
    def bytes(self) -> int:
        """The size of the constants, nearly that of the file."""
        return sum(len(constant.raw_data) for constant in self.constants.values())

    def model(self) -> onnx.ModelProto:
        """The graph as a checked ONNX model."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, list(self.constants.values()))
        opset = [helper.make_operatorsetid("", OPSET_VERSION)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="weft")
        onnx.checker.check_model(model, full_check=True)
        return model


@dataclass(frozen=True)
class OnnxStack:
    """An embedding and the layers above it, in a graph."""

    graph: OnnxGraph
    positions: int
    slot: str  # encoder or decoder
    node: RecipeNode
    embedding_slot: str  # source or target
    embedding: RecipeNode

    @property
    def heads(self) -> int:
        return int(self.node["heads"])

    @property
    def dim(self) -> int:
        """The dimension of the layers."""
        doubled = self.embedding["positions"] is not None and self.embedding["merge"] == "concat"
        return int(self.embedding["dim"]) * (2 if doubled else 1)

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    def linear(self, x: TensorName, name: str) -> TensorName:
        return self.graph.linear(x, f"{self.slot}.{name}")

    def norm(self, x: TensorName, name: str) -> TensorName:
        weights = [self.graph.weight(f"{self.slot}.{name}.{kind}") for kind in ("weight", "bias")]
        return self.graph.op("LayerNormalization", x, *weights, settings={"axis": -1, "epsilon": LAYER_NORM_EPSILON})

    def embed(self, tokens: TensorName, index: TensorName) -> TensorName:
        """The vectors of tokens [B,T] at the positions `index`, [T] or [B,1]."""
        graph, slot, node = self.graph, self.embedding_slot, self.embedding
        x = graph.op("Gather", graph.weight(f"{slot}.weight"), tokens)
        if node["scale"]:
            x = graph.op("Mul", x, graph.number(float(np.float32(node["dim"] ** 0.5))))
        if node["positions"] is None:
            return x
        if node["positions"]["type"] == "learned":
            table = graph.weight(f"{slot}.merger.positions.table")
        else:
            table = graph.constant(f"{slot}.positions", sinusoidal_table(self.positions, node["dim"]))
        vectors = graph.op("Gather", table, index)
        match node["merge"]:
            case "concat":
                return graph.op("Concat", x, graph.op("Expand", vectors, graph.op("Shape", x)), settings={"axis": -1})
            case "mean":
                return graph.op("Mul", graph.op("Add", x, vectors), graph.number(0.5))
        return graph.op("Add", x, vectors)

    def split_heads(self, x: TensorName) -> TensorName:
        """[B,T,H D] -> [B,H,T,D]."""
        heads = self.graph.op("Reshape", x, self.graph.integers(0, 0, self.heads, -1))
        return self.graph.op("Transpose", heads, settings={"perm": [0, 2, 1, 3]})

    def rotate(self, x: TensorName, index: TensorName) -> TensorName:
        """Rotary positions: rotate x [B,H,T,D] by its positions, [T] or [B,1]; column i with i + D/2."""
        graph, half = self.graph, self.head_dim // 2
        cos, sin = (
            graph.op("Gather", graph.constant(f"{self.slot}.{name}", table), index)
            for name, table in zip(("cos", "sin"), rotary_tables(self.positions, 2 * half), strict=True)
        )
        if self.slot == "decoder":  # [B,1,D/2], a position for each row
            cos, sin = (graph.op("Unsqueeze", table, graph.integers(1)) for table in (cos, sin))
        left, right = graph.split(x, half, half)
        parts = [
            graph.op("Sub", graph.op("Mul", left, cos), graph.op("Mul", right, sin)),
            graph.op("Add", graph.op("Mul", left, sin), graph.op("Mul", right, cos)),
        ]
        return graph.op("Concat", *parts, settings={"axis": -1})

    def project(self, x: TensorName, layer: str, index: TensorName) -> tuple[TensorName, TensorName, TensorName]:
        """Queries, keys and values of self-attention [B,H,T,D]."""
        parts = self.graph.split(self.linear(x, f"{layer}.self_attention.project"), self.dim, self.dim, self.dim)
        query, keys, values = (self.split_heads(part) for part in parts)
        if self.node["rotary"]:
            query, keys = self.rotate(query, index), self.rotate(keys, index)
        return query, keys, values

    def attend(self, query: TensorName, keys: TensorName, values: TensorName, bias: TensorName | None) -> TensorName:
        """softmax(q k / sqrt(D) + bias) v, [B,H,T,D] -> [B,T,H D]."""
        graph = self.graph
        scaled = graph.op("Mul", query, graph.number(self.head_dim**-0.5))
        scores = graph.op("MatMul", scaled, graph.op("Transpose", keys, settings={"perm": [0, 1, 3, 2]}))
        scores = scores if bias is None else graph.op("Add", scores, bias)
        context = graph.op("MatMul", graph.op("Softmax", scores, settings={"axis": -1}), values)
        transposed = graph.op("Transpose", context, settings={"perm": [0, 2, 1, 3]})
        return graph.op("Reshape", transposed, graph.integers(0, 0, -1))

    def before(self, x: TensorName, residual: str) -> TensorName:
        """The input of a sublayer: normalized with pre-norm."""
        return self.norm(x, f"{residual}.norm") if self.node["norm"] == "pre" else x

    def after(self, x: TensorName, y: TensorName, residual: str) -> TensorName:
        """The residual sum of a sublayer: normalized with post-norm."""
        total = self.graph.op("Add", x, y)
        return total if self.node["norm"] == "pre" else self.norm(total, f"{residual}.norm")

    def final_norm(self, x: TensorName) -> TensorName:
        return self.norm(x, "norm") if self.node["norm"] == "pre" else x

    def feedforward(self, x: TensorName, layer: str) -> TensorName:
        residual = f"{layer}.feedforward_residual"
        up = self.linear(self.before(x, residual), f"{layer}.feedforward.up")
        return self.after(x, self.linear(self._activate(up), f"{layer}.feedforward.down"), residual)

    def _activate(self, x: TensorName) -> TensorName:
        graph = self.graph
        match self.node["activation"]:
            case "relu":
                return graph.op("Relu", x)
            case "gelu":
                erf = graph.op("Erf", graph.op("Mul", x, graph.number(0.5**0.5)))
                return graph.op("Mul", graph.op("Mul", x, graph.number(0.5)), graph.op("Add", erf, graph.number(1.0)))
        gate, value = graph.split(x, self.node["ffn_dim"], self.node["ffn_dim"])  # swiglu
        return graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), value)


def transformer_graphs(model: ModelFolder) -> tuple[OnnxGraph, OnnxGraph]:
    """The encoder and the step of a model that is not `unsupported_by_onnx`."""
    slots, weights, count = model.slots, model.weights(), position_count(model)
    encoder, step = OnnxGraph("encoder", weights), OnnxGraph("step", weights)
    encoder_stack = OnnxStack(encoder, count, "encoder", slots["encoder"], "source", slots["source"])
    decoder_stack = OnnxStack(step, count, "decoder", slots["decoder"], "target", slots["target"])
    build_encoder(encoder_stack, replace(decoder_stack, graph=encoder))
    build_step(decoder_stack, model.target.size)
    return encoder, step


def build_encoder(stack: OnnxStack, decoder: OnnxStack) -> None:
    """source [B,S] -> keys and values of each decoder layer, the attention bias, and the rest of the initial state."""
    graph = stack.graph
    source = graph.input("source", ["batch", "source"], TensorProto.INT64)
    length = graph.op("Squeeze", graph.size(source, 1))
    index = graph.op("Range", graph.scalar(0), length, graph.scalar(1))
    padding = graph.op("Equal", source, graph.integers(PAD))
    bias = graph.op("Where", padding, graph.number(float("-inf")), graph.number(0.0))
    bias = graph.op("Unsqueeze", bias, graph.integers(1, 2))  # [B,1,1,S]
    x = encoder_layers(stack, stack.embed(source, index), index, bias)
    for number in range(decoder.node["layers"]):
        for name, kind in (("key", "keys"), ("value", "values")):
            projected = decoder.split_heads(decoder.linear(x, f"layers.{number}.cross_attention.{name}"))
            graph.output(f"{kind}.{number}", projected, ["batch", decoder.heads, "source", decoder.head_dim])
    graph.output(ATTENTION_BIAS, bias, ["batch", 1, 1, "source"])
    initial_state(decoder, graph.size(source, 0))


def encoder_layers(stack: OnnxStack, x: TensorName, index: TensorName, bias: TensorName) -> TensorName:
    window = stack.node["attention_window"]
    bias = bias if window is None else window_bias(stack.graph, index, bias, window)
    for number in range(stack.node["layers"]):
        layer = f"layers.{number}"
        residual = f"{layer}.self_attention_residual"
        context = stack.attend(*stack.project(stack.before(x, residual), layer, index), bias)
        x = stack.after(x, stack.linear(context, f"{layer}.self_attention.out"), residual)
        x = stack.feedforward(x, layer)
    return stack.final_norm(x)


def window_bias(graph: OnnxGraph, index: TensorName, bias: TensorName, window: int) -> TensorName:
    """The bias [B,1,S,S] with -inf outside the window, and 0 on the diagonal, so that padding attends to itself."""
    rows, columns = (graph.op("Unsqueeze", index, graph.integers(axis)) for axis in (1, 0))
    distance = graph.op("Abs", graph.op("Sub", rows, columns))
    outside, diagonal = (graph.op(kind, distance, graph.integers(n)) for kind, n in (("Greater", window), ("Equal", 0)))
    inside = graph.op("Where", outside, graph.number(float("-inf")), bias)
    return graph.op("Where", diagonal, graph.number(0.0), inside)


def initial_state(decoder: OnnxStack, batch: TensorName) -> None:
    """Past keys and values without positions, and a step count of 0. batch: its size, [1]."""
    graph = decoder.graph
    shape = graph.op("Concat", batch, graph.integers(decoder.heads, 0, decoder.head_dim), settings={"axis": 0})
    empty = graph.op("Expand", graph.constant("empty", np.zeros((1, 1, 0, 1), np.float32)), shape)
    for number in range(decoder.node["layers"]):
        for kind in ("past_keys", "past_values"):
            graph.output(f"{kind}.{number}", empty, ["batch", decoder.heads, "past", decoder.head_dim])
    graph.output(STEP_COUNT, graph.op("Expand", graph.integers(0), batch), ["batch"], TensorProto.INT64)


def build_step(stack: OnnxStack, vocabulary: int) -> None:
    """token [B], state -> log-probabilities of the next token [B,V], and the changed parts of the state ("after.*")."""
    graph = stack.graph
    tokens = graph.op("Unsqueeze", graph.input("token", ["batch"], TensorProto.INT64), graph.integers(1))
    steps = graph.input(STEP_COUNT, ["batch"], TensorProto.INT64)
    bias = graph.input(ATTENTION_BIAS, ["batch", 1, 1, "source"])
    index = graph.op("Unsqueeze", steps, graph.integers(1))  # [B,1]
    x = stack.embed(tokens, index)
    for number in range(stack.node["layers"]):
        axes = (("keys", "source"), ("values", "source"), ("past_keys", "past"), ("past_values", "past"))
        keys, values, past_keys, past_values = (
            graph.input(f"{kind}.{number}", ["batch", stack.heads, axis, stack.head_dim]) for kind, axis in axes
        )
        x = self_attention(stack, x, index, (past_keys, past_values), number)
        x = stack.feedforward(cross_attention(stack, x, keys, values, bias, number), f"layers.{number}")
    graph.output(f"after.{STEP_COUNT}", graph.op("Add", steps, graph.integers(1)), ["batch"], TensorProto.INT64)
    hidden = graph.op("Squeeze", stack.final_norm(x), graph.integers(1))
    log_probs = graph.op("LogSoftmax", graph.linear(hidden, "head"), settings={"axis": -1})
    graph.output("log_probs", log_probs, ["batch", vocabulary])


def self_attention(
    stack: OnnxStack, x: TensorName, index: TensorName, past: tuple[TensorName, TensorName], number: int
) -> TensorName:
    """Self-attention to past positions and this one; outputs their keys and values for the next step."""
    graph, layer, window = stack.graph, f"layers.{number}", stack.node["attention_window"]
    residual = f"{layer}.self_attention_residual"
    query, *new = stack.project(stack.before(x, residual), layer, index)
    keys, values = (graph.op("Concat", old, one, settings={"axis": 2}) for old, one in zip(past, new, strict=True))
    for kind, value in (("past_keys", keys), ("past_values", values)):
        if window is not None:  # only the last positions
            end, axis = graph.integers(np.iinfo(np.int64).max), graph.integers(2)
            value = graph.op("Slice", value, graph.integers(-window), end, axis)
        graph.output(f"after.{kind}.{number}", value, ["batch", stack.heads, "kept", stack.head_dim])
    context = stack.attend(query, keys, values, None)
    return stack.after(x, stack.linear(context, f"{layer}.self_attention.out"), residual)


def cross_attention(
    stack: OnnxStack, x: TensorName, keys: TensorName, values: TensorName, bias: TensorName, number: int
) -> TensorName:
    layer = f"layers.{number}"
    residual = f"{layer}.cross_attention_residual"
    query = stack.split_heads(stack.linear(stack.before(x, residual), f"{layer}.cross_attention.query"))
    context = stack.attend(query, keys, values, bias)
    return stack.after(x, stack.linear(context, f"{layer}.cross_attention.out"), residual)
