"""A Transformer of Weft as the specification of CTranslate2: its weights and whatever else decides what it says.

Positions go as a table, since the library would make other ones; the scale of embeddings as a number; the place of
norms, their epsilon, the activation and the token to start from as they are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.core.marks import BEGIN, END, PAD
from weft.export.aside import kept_aside
from weft.export.described import Described, Node, Weights
from weft.export.names import token_names
from weft.export.places import places_needed, sinusoidal

EPSILON = 1e-5  # of nn.LayerNorm

with kept_aside("torch"):  # which the library imports if it can: seconds would be lost
    from ctranslate2.specs import Activation, TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "swiglu": Activation.SWISH}


def specification(described: Described) -> TransformerSpec:
    """The specification of a model that has no `refusals`, filled in."""
    slots, weights = described.model, described.weights()
    encoder = TransformerEncoderSpec(**_settings(slots["encoder"]))
    decoder = TransformerDecoderSpec(**_settings(slots["decoder"]))
    encoder.scale_embeddings = _fill_embedding(encoder.embeddings[0], slots["source"], weights, "source")
    decoder.scale_embeddings = _fill_embedding(decoder.embeddings, slots["target"], weights, "target")
    count = places_needed(described)
    for stack, slot, embedding in ((encoder, "encoder", "source"), (decoder, "decoder", "target")):
        if not slots[slot]["rotary"]:
            stack.position_encodings.encodings = _places(slots[embedding], count, weights, embedding)
        _fill_stack(stack, slots[slot], weights, slot)
    for number, layer in enumerate(decoder.layer):
        _fill_across(layer.attention, weights, f"decoder.layers.{number}")
    _put(decoder.projection, weights, "head")
    spec = TransformerSpec(encoder, decoder)
    _register_tokens(spec, described)
    spec.validate()
    return spec


def _settings(node: Node) -> Mapping[str, Any]:
    """What the constructor of a stack needs to know."""
    return {
        "num_layers": node["layers"],
        "num_heads": node["heads"],
        "pre_norm": node["norm"] == "pre",
        "activation": ACTIVATIONS[node["activation"]],
        "ffn_glu": node["activation"] == "swiglu",
        "rotary_dim": 0 if node["rotary"] else None,  # 0: all columns of a head
        "rotary_interleave": False,  # column i is turned with i + D/2
    }


def _register_tokens(spec: TransformerSpec, described: Described) -> None:
    target = token_names(described.target)
    spec.register_source_vocabulary(token_names(described.source_tokenizer))
    spec.register_target_vocabulary(target)
    unknown = described.target.unknown
    spec.config.unk_token = target[PAD if unknown is None else unknown]
    spec.config.bos_token = spec.config.decoder_start_token = target[BEGIN]
    spec.config.eos_token = target[END]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = EPSILON


def _fill_embedding(embedding: Any, node: Node, weights: Weights, slot: str) -> float:
    """x = E[token] scale + P[place], or half of both: the scale."""
    embedding.weight = weights[f"{slot}.weight"]
    return float(_share(node) * (node["dim"] ** 0.5 if node["scaled"] else 1.0))


def _share(node: Node) -> float:
    """What of a token's vector, and of its place's, is in the mean or the sum of the two."""
    return 0.5 if node["positions"] is not None and node["merge"] == "mean" else 1.0


def _places(node: Node, count: int, weights: Weights, slot: str) -> NDArray[np.float32]:
    """[places,D]; zeros where an embedding knows of no places."""
    match node["positions"]:
        case None:
            return np.zeros((count, node["dim"]), np.float32)
        case {"type": "learned"}:
            return _share(node) * weights[f"{slot}.placing.positions.table"]
        case _:
            return _share(node) * sinusoidal(count, node["dim"])


def _fill_stack(stack: Any, node: Node, weights: Weights, slot: str) -> None:
    for number, layer in enumerate(stack.layer):
        ours = f"{slot}.layers.{number}"
        _put(layer.self_attention.linear[0], weights, f"{ours}.attention.project")
        _put(layer.self_attention.linear[1], weights, f"{ours}.attention.out")
        _put_norm(layer.self_attention.layer_norm, weights, f"{ours}.around_attention.norm")
        _fill_feedforward(layer.ffn, node, weights, ours)
    if node["norm"] == "pre":
        _put_norm(stack.layer_norm, weights, f"{slot}.norm")


def _fill_feedforward(feedforward: Any, node: Node, weights: Weights, ours: str) -> None:
    """A gate and what it lets through come from two products there, where there is a gate."""
    gated = node["activation"] == "swiglu"
    up = [feedforward.linear_0, feedforward.linear_0_noact] if gated else [feedforward.linear_0]
    for kind in ("weight", "bias"):
        for linear, part in zip(up, np.split(weights[f"{ours}.feedforward.up.{kind}"], len(up)), strict=True):
            setattr(linear, kind, part)
    _put(feedforward.linear_1, weights, f"{ours}.feedforward.down")
    _put_norm(feedforward.layer_norm, weights, f"{ours}.around_feedforward.norm")


def _fill_across(attention: Any, weights: Weights, ours: str) -> None:
    """Keys and values of the memory come from one product there."""
    _put(attention.linear[0], weights, f"{ours}.across.query")
    for kind in ("weight", "bias"):
        both = [weights[f"{ours}.across.{part}.{kind}"] for part in ("key", "value")]
        setattr(attention.linear[1], kind, np.concatenate(both))
    _put(attention.linear[2], weights, f"{ours}.across.out")
    _put_norm(attention.layer_norm, weights, f"{ours}.around_across.norm")


def _put(linear: Any, weights: Weights, name: str) -> None:
    linear.weight = weights[f"{name}.weight"]
    if f"{name}.bias" in weights:
        linear.bias = weights[f"{name}.bias"]


def _put_norm(norm: Any, weights: Weights, name: str) -> None:
    norm.gamma, norm.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]
