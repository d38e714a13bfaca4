"""Converts a Transformer to CTranslate2: specification, vocabularies, lexical shortlist, and int8 quantization that
cannot overflow on CPUs without VNNI. Imports ctranslate2 with torch blocked.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.checkpoints.model_folder import ModelFolder, NumpyWeights, RecipeNode
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD, SPECIAL_TOKENS
from weft.inference.capabilities import CTranslate2Precision
from weft.inference.export.position_tables import LAYER_NORM_EPSILON, position_count, sinusoidal_table
from weft.text.lexical_shortlist import Shortlist
from weft.text.tokenizer import SPACE_SYMBOL, Tokenizer


@dataclass(frozen=True)
class BlockedImport:
    """A module finder that raises ModuleNotFoundError for one package in one thread."""

    name: str
    thread: int

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if name == self.name and get_ident() == self.thread:
            raise ModuleNotFoundError(f"{self.name} is blocked", name=self.name)
        return None


@contextmanager
def block_import(name: str) -> Iterator[None]:
    """Make a package that is not loaded yet appear as not installed, for this thread.

    sys.meta_path is replaced, not changed: another thread may be iterating over it.
    """
    blocked = BlockedImport(name, get_ident())
    sys.meta_path = [blocked, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not blocked]


with block_import("torch"):  # which ctranslate2 imports if it can; that takes seconds
    from ctranslate2.specs import Activation, TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec
    from ctranslate2.specs.model_spec import NumpyVariable, visit_spec

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "swiglu": Activation.SWISH}
WeightBits: TypeAlias = Literal[7, 8]
VMAP_FILE = "vmap.txt"  # the name that CTranslate2 expects in a model folder


def convert_to_ctranslate2(
    model: ModelFolder,
    folder: Path,
    precision: CTranslate2Precision,
    shortlist: Shortlist | None = None,
    bits: WeightBits = 7,
) -> None:
    """Write model.bin, config.json, vocabularies and shortlist into a folder. bits: of int8 weights; 7 are safe."""
    spec = transformer_spec(model)
    if precision == "int8":
        quantize_spec(spec, bits)
    spec.optimize(quantization=None if precision == "int8" else precision)
    spec.save(str(folder))
    if shortlist is not None:
        write_vmap(folder, model, shortlist)


def quantize_spec(spec: Any, bits: WeightBits) -> None:
    """Quantize every matrix of the specification that has a scale.

    A processor without VNNI adds two products of bytes in 16 bits, which overflow at 32,767 without notice: 2 x 255 x
    127 is too much. With weights of 7 bits it cannot happen: 2 x 255 x 63 = 32,130.
    """

    def quantize(layer: Any, name: str, value: Any) -> None:
        attribute = name.rpartition("/")[2]
        if not hasattr(layer, f"{attribute}_scale"):
            return
        integers, scale = quantize_rows(value.numpy(), bits)
        setattr(layer, attribute, NumpyVariable(integers))
        setattr(layer, f"{attribute}_scale", NumpyVariable(scale))

    visit_spec(spec, quantize)


def quantize_rows(weight: NDArray[np.float32], bits: WeightBits) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[rows,columns] -> integers and a scale for each row: weight = integers / scale, up to half a step."""
    max_integer = np.float32(2 ** (bits - 1) - 1)
    smallest = max_integer / np.finfo(np.float32).max  # the scale of a smaller row would be infinite
    largest = np.abs(weight).max(1)
    scale = max_integer / np.where(largest == 0, max_integer, np.maximum(largest, smallest))
    return np.rint(weight * scale[:, None]).astype(np.int8), scale.astype(np.float32)


def transformer_spec(model: ModelFolder) -> TransformerSpec:
    """The specification of a model that is not `unsupported_by_ctranslate2`, with its weights.

    Positions become a table, since CTranslate2's own differ; the embedding scale, the position and epsilon of layer
    norms, the activation and the start token are those of the model.
    """
    slots, weights = model.slots, model.weights()
    encoder = TransformerEncoderSpec(**_stack_options(slots["encoder"]))
    decoder = TransformerDecoderSpec(**_stack_options(slots["decoder"]))
    encoder.embeddings[0].weight, decoder.embeddings.weight = weights["source.weight"], weights["target.weight"]
    for stack, slot, side in ((encoder, "encoder", "source"), (decoder, "decoder", "target")):
        embedding = slots[side]
        stack.scale_embeddings = _merge_scale(embedding) * (embedding["dim"] ** 0.5 if embedding["scale"] else 1.0)
        if not slots[slot]["rotary"]:
            stack.position_encodings.encodings = _position_table(embedding, position_count(model), weights, side)
        _fill_stack(stack, slots[slot], weights, slot)
    for number, layer in enumerate(decoder.layer):
        _fill_cross_attention(layer.attention, weights, f"decoder.layers.{number}")
    _fill_linear(decoder.projection, weights, "head")
    spec, target, unknown = TransformerSpec(encoder, decoder), token_names(model.target), model.target.unknown_id
    spec.register_source_vocabulary(token_names(model.source_tokenizer))
    spec.register_target_vocabulary(target)
    spec.config.unk_token = target[PAD if unknown is None else unknown]
    spec.config.bos_token = spec.config.decoder_start_token = target[BOS]
    spec.config.eos_token = target[EOS]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = LAYER_NORM_EPSILON
    spec.validate()
    return spec


def _stack_options(node: RecipeNode) -> Mapping[str, Any]:
    return {
        "num_layers": node["layers"],
        "num_heads": node["heads"],
        "pre_norm": node["norm"] == "pre",
        "activation": ACTIVATIONS[node["activation"]],
        "ffn_glu": node["activation"] == "swiglu",
        "rotary_dim": 0 if node["rotary"] else None,  # 0: all columns of a head
        "rotary_interleave": False,  # column i is rotated with i + D/2
    }


def _merge_scale(embedding: RecipeNode) -> float:
    """The factor of both terms in the sum or mean of token and position vectors."""
    return 0.5 if embedding["positions"] is not None and embedding["merge"] == "mean" else 1.0


def _position_table(embedding: RecipeNode, count: int, weights: NumpyWeights, side: str) -> NDArray[np.float32]:
    """[positions,D]; zeros without positions."""
    match embedding["positions"]:
        case None:
            return np.zeros((count, embedding["dim"]), np.float32)
        case {"type": "learned"}:
            return _merge_scale(embedding) * weights[f"{side}.merger.positions.table"]
        case _:
            return _merge_scale(embedding) * sinusoidal_table(count, embedding["dim"])


def _fill_stack(stack: Any, node: RecipeNode, weights: NumpyWeights, slot: str) -> None:
    for number, layer in enumerate(stack.layer):
        ours = f"{slot}.layers.{number}"
        _fill_linear(layer.self_attention.linear[0], weights, f"{ours}.self_attention.project")
        _fill_linear(layer.self_attention.linear[1], weights, f"{ours}.self_attention.out")
        _fill_norm(layer.self_attention.layer_norm, weights, f"{ours}.self_attention_residual.norm")
        _fill_feedforward(layer.ffn, node, weights, ours)
    if node["norm"] == "pre":
        _fill_norm(stack.layer_norm, weights, f"{slot}.norm")


def _fill_feedforward(feedforward: Any, node: RecipeNode, weights: NumpyWeights, ours: str) -> None:
    """In CTranslate2 a gate and its value are two layers; here they are one."""
    gated = node["activation"] == "swiglu"
    up = [feedforward.linear_0, feedforward.linear_0_noact] if gated else [feedforward.linear_0]
    for kind in ("weight", "bias"):
        for linear, part in zip(up, np.split(weights[f"{ours}.feedforward.up.{kind}"], len(up)), strict=True):
            setattr(linear, kind, part)
    _fill_linear(feedforward.linear_1, weights, f"{ours}.feedforward.down")
    _fill_norm(feedforward.layer_norm, weights, f"{ours}.feedforward_residual.norm")


def _fill_cross_attention(attention: Any, weights: NumpyWeights, ours: str) -> None:
    """In CTranslate2 keys and values are one layer; here they are two."""
    _fill_linear(attention.linear[0], weights, f"{ours}.cross_attention.query")
    for kind in ("weight", "bias"):
        both = [weights[f"{ours}.cross_attention.{part}.{kind}"] for part in ("key", "value")]
        setattr(attention.linear[1], kind, np.concatenate(both))
    _fill_linear(attention.linear[2], weights, f"{ours}.cross_attention.out")
    _fill_norm(attention.layer_norm, weights, f"{ours}.cross_attention_residual.norm")


def _fill_linear(linear: Any, weights: NumpyWeights, name: str) -> None:
    linear.weight = weights[f"{name}.weight"]
    if f"{name}.bias" in weights:
        linear.bias = weights[f"{name}.bias"]


def _fill_norm(norm: Any, weights: NumpyWeights, name: str) -> None:
    norm.gamma, norm.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def token_names(tokenizer: Tokenizer) -> list[str]:
    """A unique name for each id: its token with visible white space, and a suffix if another token has that name."""
    tokens = tokenizer.raw_tokens()
    visible = ["".join(SPACE_SYMBOL if char.isspace() else char for char in token) or SPACE_SYMBOL for token in tokens]
    taken, names = set(tokens) & set(visible), list[str]()
    for token, name in zip([*[None] * NUM_SPECIAL_TOKENS, *tokens], [*SPECIAL_TOKENS, *visible], strict=True):
        if name != token:
            while name in taken:
                name += "_"
            taken.add(name)
        names.append(name)
    return names


def write_vmap(folder: Path, model: ModelFolder, shortlist: Shortlist) -> None:
    """Write a shortlist for CTranslate2: a line for each source token, with a tab before its targets. The line without
    a source token has the targets of every source.
    """
    target = token_names(model.target)

    def names(ids: Iterable[int]) -> str:
        return " ".join(target[number] for number in ids)

    lines = [f"\t{names(shortlist.always)}\n"]
    for number, name in enumerate(token_names(model.source_tokenizer)):
        if len(ids := shortlist.for_token(number)):
            lines.append(f"{name}\t{names(ids)}\n")
    (folder / VMAP_FILE).write_text("".join(lines), "utf-8", newline="\n")
