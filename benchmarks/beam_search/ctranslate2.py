"""CTranslate2 4.8.4: pre-norm, fused keys and values in cross-attention, positions from the model."""

from __future__ import annotations

from benchmarks.beam_search.job import Shape
from benchmarks.beam_search.weft_model import Weights, positions
from benchmarks.beam_search.weight_names import Table, rename_layers, rename_weights
from benchmarks.peers.environments import Pins

VERSION = "4.8.4"
LONGEST = 512  # positions

BOTH: Table = {
    ("self_attention.project",): ("self_attention.linear.0",),
    ("self_attention.out",): ("self_attention.linear.1",),
    ("self_attention_residual.norm",): ("self_attention.layer_norm",),
    ("feedforward_residual.norm",): ("ffn.layer_norm",),
    ("feedforward.up",): ("ffn.linear_0",),
    ("feedforward.down",): ("ffn.linear_1",),
}
DECODER: Table = {
    **BOTH,
    ("cross_attention_residual.norm",): ("attention.layer_norm",),
    ("cross_attention.query",): ("attention.linear.0",),
    ("cross_attention.key", "cross_attention.value"): ("attention.linear.1",),
    ("cross_attention.out",): ("attention.linear.2",),
}
ENDS: Table = {("encoder.norm",): ("encoder.layer_norm",), ("decoder.norm",): ("decoder.layer_norm",)}
NORMS = {"layer_norm.weight": "layer_norm.gamma", "layer_norm.bias": "layer_norm.beta"}


def arrays(weights: Weights, shape: Shape) -> Weights:
    places, embedding = positions(shape, LONGEST), weights["source.weight"]
    layers = {
        **rename_weights(weights, ENDS),
        **rename_layers(weights, BOTH, shape.layers, "encoder.layers", "encoder.layer"),
        **rename_layers(weights, DECODER, shape.layers, "decoder.layers", "decoder.layer"),
    }
    return {
        "encoder.embeddings.0.weight": embedding,
        "decoder.embeddings.weight": embedding,
        "decoder.projection.weight": embedding,
        "decoder.projection.bias": weights["head.bias"],
        "encoder.position_encodings.encodings": places,
        "decoder.position_encodings.encodings": places,
        **{norms_renamed(name): array for name, array in layers.items()},
    }


def norms_renamed(name: str) -> str:
    for ours, theirs in NORMS.items():
        name = name.replace(ours, theirs)
    return name


PINS = Pins(f"ctranslate2-{VERSION}", ((f"ctranslate2=={VERSION}",),), torch=False)
