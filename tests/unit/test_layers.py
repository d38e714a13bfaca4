"""Embeddings, positions, shared weights, heads and tracing: behavior that the laws do not cover."""

from dataclasses import replace
from functools import partial
from typing import cast

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from weft.core import tracing
from weft.core.errors import ConfigError
from weft.core.padded import Padded
from weft.core.special_tokens import SPECIAL_TOKENS
from weft.models.build import ModelConfig, build_model
from weft.models.decoders.bahdanau import BahdanauDecoder
from weft.models.decoders.sutskever import SutskeverDecoder
from weft.models.encoders.recurrent import RecurrentEncoder
from weft.models.heads import LinearHead
from weft.models.model import count_parameters
from weft.models.transformer import TransformerEncoder
from weft.nn.bridges import CopyBridge, LinearBridge
from weft.nn.cells.lstm import LSTMCell
from weft.nn.cells.wrappers import StackedCell
from weft.nn.char_cnn import CharCNN
from weft.nn.embedding import TokenEmbedding
from weft.nn.positional_encoding import LearnedPositions, SinusoidalPositions

MEAN_BRIDGE = partial(LinearBridge, summary="mean")
VOCABULARY = [*SPECIAL_TOKENS, *"abcdefgh"]
TINY = ModelConfig(
    source=partial(TokenEmbedding, dim=8),
    encoder=partial(TransformerEncoder, layers=1, heads=2, ffn_dim=8),
    target=partial(TokenEmbedding, dim=8),
    decoder=partial(BahdanauDecoder, bridge=MEAN_BRIDGE, maxout_dim=8),
)


@pytest.mark.parametrize(("merge", "width"), [("sum", 6), ("mean", 6), ("concat", 12)])
def test_embeddings_merge_with_positions(merge: str, width: int) -> None:
    embedding = TokenEmbedding(VOCABULARY, dim=6, scale=False, positions=SinusoidalPositions, merge=merge)  # type: ignore[arg-type]
    ids, first = torch.tensor([[3, 4]]), torch.tensor([5])
    y = embedding(ids, first)
    assert y.shape == (1, 2, width) == (1, 2, embedding.dim)
    tokens, positions = embedding.weight[ids], SinusoidalPositions(6)(torch.tensor([[5, 6]]))
    expected = {
        "sum": tokens + positions,
        "mean": (tokens + positions) / 2,
        "concat": torch.cat([tokens, positions], -1),
    }
    assert_close(y, expected[merge])


def test_learned_positions_are_limited() -> None:
    positions = LearnedPositions(4, max_length=3)
    assert positions(torch.tensor([[0, 2]])).shape == (1, 2, 4)
    with pytest.raises(ValueError, match="position 3 is past the 3 learned"):
        positions(torch.tensor([[3]]))


@pytest.mark.parametrize(("tie", "shared"), [("none", 3), ("embeddings", 2), ("output", 2), ("all", 1)])
def test_tied_slots_share_one_weight(tie: str, shared: int) -> None:
    model = build_model(ModelConfig(**{**vars(TINY), "tie": tie}), VOCABULARY, VOCABULARY, joint=True)
    weights = {id(model.source.weight), id(model.target.weight), id(model.head.weight)}
    assert len(weights) == shared
    untied = build_model(TINY, VOCABULARY, VOCABULARY, joint=True)
    assert count_parameters(untied) - count_parameters(model) == (3 - shared) * 88


def test_head_can_score_selected_classes_only() -> None:
    head = LinearHead(4, 9)
    hidden, classes = torch.randn(2, 4), torch.tensor([7, 1])
    assert_close(head(hidden, classes), head(hidden)[:, classes])


@pytest.mark.parametrize(
    ("changed", "joint", "message"),
    [
        ({"tie": "all"}, False, "model.tie: all needs one vocabulary"),
        (
            {"tie": "output", "decoder": partial(BahdanauDecoder, bridge=MEAN_BRIDGE, maxout_dim=5)},
            True,
            "different widths, 8 and 5",
        ),
        ({"encoder": partial(TransformerEncoder, heads=3)}, True, "model.encoder: 3 heads do not divide the width 8"),
        ({"decoder": BahdanauDecoder}, True, "model.decoder: bridge: summary: last needs an encoder with a last state"),
        ({"source": partial(TokenEmbedding, dim=7, positions=SinusoidalPositions)}, True, "model.source: sinusoidal"),
    ],
)
def test_incompatible_sizes_are_reported_with_their_setting(
    changed: dict[str, object], joint: bool, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build_model(ModelConfig(**{**vars(TINY), **changed}), VOCABULARY, VOCABULARY, joint=joint)


def test_reverse_leaves_the_padding_at_the_end() -> None:
    x = Padded.from_rows([[3, 4, 5], [6, 7]])
    assert x.reverse().data.tolist() == [[5, 4, 3], [7, 6, 0]]
    vectors = x.with_data(x.data[:, :, None].float())
    assert vectors.reverse().data[:, :, 0].tolist() == [[5, 4, 3], [7, 6, 0]]


def test_tracing_collects_only_tensors_recorded_inside_the_block() -> None:
    tracing.record_tensor("before", torch.zeros(1))
    with tracing.trace_tensors() as traced:
        tracing.record_tensor("x", torch.zeros(1))
        tracing.record_tensor("x", torch.ones(1))
    tracing.record_tensor("after", torch.zeros(1))
    assert {name: len(tensors) for name, tensors in traced.items()} == {"x": 2}


def test_attention_of_every_layer_is_traced() -> None:
    model = build_model(
        replace(TINY, encoder=partial(TransformerEncoder, layers=2, heads=2, ffn_dim=8)),
        VOCABULARY,
        VOCABULARY,
        joint=True,
    )
    with tracing.trace_tensors() as traced:
        model.encode(Padded.from_rows([[3, 4, 2]]))
    assert [(name, [tuple(tensor.shape) for tensor in tensors]) for name, tensors in traced.items()] == [
        ("encoder.0.self_attention", [(1, 2, 3, 3)]),
        ("encoder.1.self_attention", [(1, 2, 3, 3)]),
    ]


def test_character_embedding_cannot_be_tied() -> None:
    with pytest.raises(ConfigError, match="only an embedding of the type tokens has a vector for each token"):
        build_model(replace(TINY, source=partial(CharCNN, dim=8), tie="all"), VOCABULARY, VOCABULARY, joint=True)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_decoder_can_share_the_encoder_cells(*, orthogonal: bool) -> None:
    cell = partial(LSTMCell, dim=8, orthogonal=orthogonal)
    decoder = partial(SutskeverDecoder, cell=partial(StackedCell, cell=cell, layers=2), bridge=CopyBridge)
    slots = replace(
        TINY, encoder=partial(RecurrentEncoder, cell=cell, layers=2, directions="backward"), decoder=decoder
    )
    separate = build_model(slots, VOCABULARY, VOCABULARY, joint=True)
    shared = build_model(
        replace(slots, decoder=partial(decoder, share_weights=True)), VOCABULARY, VOCABULARY, joint=True
    )
    cells = shared.encoder.sizes.cells
    assert count_parameters(separate) - count_parameters(shared) == sum(
        count_parameters(cast(nn.Module, cell)) for cell in cells
    )
    x, states = torch.ones(1, 1, 8), tuple(torch.randn(1, 8) for _ in range(2))
    below = shared.get_submodule("decoder.cell.cells.0")
    whole = Padded(x, torch.ones(1, 1, dtype=torch.bool))
    assert_close(cast(LSTMCell, below).run(whole, states)[0].data, cells[0].run(whole, states)[0].data)


def test_different_cells_cannot_be_shared() -> None:
    decoder = partial(SutskeverDecoder, cell=partial(LSTMCell, dim=9), share_weights=True)
    encoder = partial(RecurrentEncoder, cell=partial(LSTMCell, dim=8), directions="forward")
    with pytest.raises(ConfigError, match=r"model\.decoder: share_weights: the encoder's cells are not the decoder's"):
        build_model(replace(TINY, encoder=encoder, decoder=decoder), VOCABULARY, VOCABULARY, joint=True)
