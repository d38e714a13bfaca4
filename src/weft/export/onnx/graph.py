"""A graph of ONNX, written down node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NewType

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPERATORS = 17  # the first set with LayerNormalization, which every runtime of the last years has
FORMAT = 8  # of the file, of the same time
Value = NewType("Value", str)  # the name of a tensor
Sizes = Sequence[int | str]  # a word stands for a size that is known only when the graph is run


@dataclass
class Graph:
    """Nodes in the order in which they are computed, and the constants that they need."""

    name: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def input(self, name: str, sizes: Sizes, kind: int = TensorProto.FLOAT) -> Value:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(sizes)))
        return Value(name)

    def output(self, name: str, value: Value, sizes: Sizes, kind: int = TensorProto.FLOAT) -> None:
        """Give out a value under this name."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(sizes)))

    def weight(self, name: str, array: NDArray[Any]) -> Value:
        """A constant that is kept once, under its name."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(array.copy(order="C"), name)
        return Value(name)

    def number(self, value: float) -> Value:
        return self.weight(f"number {value!r}", np.array(value, np.float32))

    def whole(self, *values: int) -> Value:
        """Whole numbers, [n]."""
        return self.weight(f"whole {' '.join(map(str, values))}", np.array(values, np.int64))

    def node(
        self, kind: str, *inputs: Value, several: int = 1, settings: Mapping[str, Any] | None = None
    ) -> list[Value]:
        """An operator with `several` outputs."""
        names = [Value(f"{kind} {len(self.nodes)}.{number}") for number in range(several)]
        self.nodes.append(helper.make_node(kind, list(inputs), list(names), **(settings or {})))
        return names

    def op(self, kind: str, *inputs: Value, settings: Mapping[str, Any] | None = None) -> Value:
        """An operator with one output."""
        return self.node(kind, *inputs, settings=settings)[0]

    def size(self, value: Value, axis: int) -> Value:
        """How many there are along an axis, [1]."""
        return self.op("Gather", self.op("Shape", value), self.whole(axis))

    def linear(self, x: Value, weight: NDArray[Any], bias: NDArray[Any] | None, name: str) -> Value:
        """W x + b, for x [...,I]."""
        product = self.op("MatMul", x, self.weight(f"{name}.weight", weight.T))
        return product if bias is None else self.op("Add", product, self.weight(f"{name}.bias", bias))

    @property
    def bytes(self) -> int:
        """Of its constants, which are nearly all of it."""
        return sum(len(constant.raw_data) for constant in self.constants.values())

    def model(self) -> onnx.ModelProto:
        """The graph as a file holds it, checked."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, list(self.constants.values()))
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_operatorsetid("", OPERATORS)],
            ir_version=FORMAT,
            producer_name="weft",
        )
        onnx.checker.check_model(made, full_check=True)
        return made
