"""Hugging Face transformers 5.22.2: its Marian model has a norm after every layer and none at the ends of its stacks.

It would take other positions than ours (all sines, then all cosines), so it is given ours.
"""

from __future__ import annotations

from benchmarks.beams.job import Shape
from benchmarks.beams.names import Table, stacked
from benchmarks.beams.ours import Weights, positions
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
        **stacked(weights, BOTH, shape.layers, "encoder.layers", "model.encoder.layers"),
        **stacked(weights, DECODER, shape.layers, "decoder.layers", "model.decoder.layers"),
    }


PINS = Pins(f"transformers-{VERSION}", ((f"transformers=={VERSION}",),))
