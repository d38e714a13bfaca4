"""OpenNMT-py 3.5.1: its Transformer is pre-norm, with the same positions as Weft."""

from __future__ import annotations

from benchmarks.beam_search.job import Shape
from benchmarks.beam_search.weft_model import Weights
from benchmarks.beam_search.weight_names import Table, rename_layers, rename_weights

EMBEDDING = "encoder.embeddings.make_embedding.emb_luts.0.weight"

BOTH: Table = {
    ("self_attention.project",): ("self_attn.linear_query", "self_attn.linear_keys", "self_attn.linear_values"),
    ("self_attention.out",): ("self_attn.final_linear",),
    ("feedforward_residual.norm",): ("feed_forward.layer_norm",),
    ("feedforward.up",): ("feed_forward.w_1",),
    ("feedforward.down",): ("feed_forward.w_2",),
}
ENCODER: Table = {**BOTH, ("self_attention_residual.norm",): ("layer_norm",)}
DECODER: Table = {
    **BOTH,
    ("self_attention_residual.norm",): ("layer_norm_1",),
    ("cross_attention_residual.norm",): ("layer_norm_2",),
    ("cross_attention.query",): ("context_attn.linear_query",),
    ("cross_attention.key",): ("context_attn.linear_keys",),
    ("cross_attention.value",): ("context_attn.linear_values",),
    ("cross_attention.out",): ("context_attn.final_linear",),
}
ENDS: Table = {("encoder.norm",): ("encoder.layer_norm",), ("decoder.norm",): ("decoder.layer_norm",)}


def arrays(weights: Weights, shape: Shape) -> Weights:
    return {
        EMBEDDING: weights["source.weight"],
        "generator.bias": weights["head.bias"],
        **rename_weights(weights, ENDS),
        **rename_layers(weights, ENCODER, shape.layers, "encoder.layers", "encoder.transformer"),
        **rename_layers(weights, DECODER, shape.layers, "decoder.layers", "decoder.transformer_layers"),
    }
