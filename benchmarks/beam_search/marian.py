"""Hugging Face transformers 5.22.2: its Marian model is post-norm, without final norms.

Its default positions are all sines, then all cosines; it receives Weft's instead.
"""

from __future__ import annotations

from benchmarks.beam_search.job import Shape
from benchmarks.beam_search.weft_model import Weights, positions
from benchmarks.beam_search.weight_names import Table, rename_layers
from benchmarks.peers.environments import Pins

VERSION = "5.22.2"
LONGEST = 512  # positions

BOTH: Table = {
    ("self_attention.project",): ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    ("self_attention.out",): ("self_attn.out_proj",),
    ("self_attention_residual.norm",): ("self_attn_layer_norm",),
    ("feedforward_residual.norm",): ("final_layer_norm",),
    ("feedforward.up",): ("fc1",),
    ("feedforward.down",): ("fc2",),
}
DECODER: Table = {
    **BOTH,
    ("cross_attention_residual.norm",): ("encoder_attn_layer_norm",),
    ("cross_attention.query",): ("encoder_attn.q_proj",),
    ("cross_attention.key",): ("encoder_attn.k_proj",),
    ("cross_attention.value",): ("encoder_attn.v_proj",),
    ("cross_attention.out",): ("encoder_attn.out_proj",),
}


def arrays(weights: Weights, shape: Shape) -> Weights:
    places = positions(shape, LONGEST)
    return {
        "model.shared.weight": weights["source.weight"],
        "final_logits_bias": weights["head.bias"][None],
        "model.encoder.embed_positions.weight": places,
        "model.decoder.embed_positions.weight": places,
        **rename_layers(weights, BOTH, shape.layers, "encoder.layers", "model.encoder.layers"),
        **rename_layers(weights, DECODER, shape.layers, "decoder.layers", "model.decoder.layers"),
    }


PINS = Pins(f"transformers-{VERSION}", ((f"transformers=={VERSION}",),))
