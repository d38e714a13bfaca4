"""What the laws do not say about dropout, positions, embeddings and shared weights."""

from dataclasses import replace
from functools import partial
from typing import cast

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from weft.core import tracing
from weft.core.codec import SPECIAL_TOKENS
from weft.core.errors import ConfigError
from weft.core.padded import Padded
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
from weft.nn.dropout import Dropout
from weft.nn.embedding import TokenEmbedding
from weft.nn.positional_encoding import LearnedPositions, SinusoidalPositions

MEAN = partial(LinearBridge, summary="mean")
ELEVEN = [*SPECIAL_TOKENS, *"abcdefgh"]
TINY = ModelConfig(
    source=partial(TokenEmbedding, dim=8),
    encoder=partial(TransformerEncoder, layers=1, heads=2, ffn_dim=8),
    target=partial(TokenEmbedding, dim=8),
    decoder=partial(BahdanauDecoder, bridge=MEAN, maxout_dim=8),
)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_zeroes_the_rate_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    y = Dropout(rate)(torch.ones(1000, 300))
    assert abs(float((y == 0).float().mean()) - rate) < 0.004
    assert abs(float(y.mean()) - 1) < 0.005


def test_dropout_draws_each_element_for_itself() -> None:
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(4000, 64)) > 0).float()
    together = kept.T @ kept / len(kept)  # the share of rows in which two columns are both kept
    assert float((together - 0.25).fill_diagonal_(0).abs().max()) < 0.05


def test_dropout_is_absent_in_evaluation_and_at_rate_zero() -> None:
    x = torch.randn(3, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_dropout_follows_the_seed() -> None:
    x = torch.ones(7, 9)
    torch.manual_seed(5)
    first = Dropout(0.5)(x)
    torch.manual_seed(5)
    assert_close(Dropout(0.5)(x), first)
    assert not torch.equal(Dropout(0.5)(x), first)


@pytest.mark.parametrize(("merge", "width"), [("sum", 6), ("mean", 6), ("concat", 12)])
def test_embeddings_merge_with_positions(merge: str, width: int) -> None:
    embedding = TokenEmbedding(ELEVEN, dim=6, scale=False, positions=SinusoidalPositions, merge=merge)  # type: ignore[arg-type]
    ids, first = torch.tensor([[3, 4]]), torch.tensor([5])
    y = embedding(ids, first)
    assert y.shape == (1, 2, width) == (1, 2, embedding.dim)
    tokens, places = embedding.weight[ids], SinusoidalPositions(6)(torch.tensor([[5, 6]]))
    expected = {"sum": tokens + places, "mean": (tokens + places) / 2, "concat": torch.cat([tokens, places], -1)}
    assert_close(y, expected[merge])


def test_learned_positions_end_at_their_limit() -> None:
    positions = LearnedPositions(4, max_length=3)
    assert positions(torch.tensor([[0, 2]])).shape == (1, 2, 4)
    with pytest.raises(ValueError, match="position 3 is past the 3 learned"):
        positions(torch.tensor([[3]]))


@pytest.mark.parametrize(("tie", "shared"), [("none", 3), ("embeddings", 2), ("output", 2), ("all", 1)])
def test_tied_slots_share_one_weight(tie: str, shared: int) -> None:
    model = build_model(ModelConfig(**{**vars(TINY), "tie": tie}), ELEVEN, ELEVEN, joint=True)
    weights = {id(model.source.weight), id(model.target.weight), id(model.head.weight)}
    assert len(weights) == shared
    untied = build_model(TINY, ELEVEN, ELEVEN, joint=True)
    assert count_parameters(untied) - count_parameters(model) == (3 - shared) * 88


def test_a_head_scores_chosen_classes_alone() -> None:
    head = LinearHead(4, 9)
    hidden, classes = torch.randn(2, 4), torch.tensor([7, 1])
    assert_close(head(hidden, classes), head(hidden)[:, classes])


@pytest.mark.parametrize(
    ("changed", "joint", "message"),
    [
        ({"tie": "all"}, False, "model.tie: all needs one vocabulary"),
        (
            {"tie": "output", "decoder": partial(BahdanauDecoder, bridge=MEAN, maxout_dim=5)},
            True,
            "different widths, 8 and 5",
        ),
        ({"encoder": partial(TransformerEncoder, heads=3)}, True, "model.encoder: 3 heads do not divide the width 8"),
        ({"decoder": BahdanauDecoder}, True, "model.decoder: bridge: summary: last needs an encoder with a last state"),
        ({"source": partial(TokenEmbedding, dim=7, positions=SinusoidalPositions)}, True, "model.source: sinusoidal"),
    ],
)
def test_sizes_that_do_not_fit_are_told_with_their_place(changed: dict[str, object], joint: bool, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_model(ModelConfig(**{**vars(TINY), **changed}), ELEVEN, ELEVEN, joint=joint)


def test_reversal_keeps_the_padding_at_the_end() -> None:
    x = Padded.from_rows([[3, 4, 5], [6, 7]])
    assert x.reverse().data.tolist() == [[5, 4, 3], [7, 6, 0]]
    vectors = x.with_data(x.data[:, :, None].float())
    assert vectors.reverse().data[:, :, 0].tolist() == [[5, 4, 3], [7, 6, 0]]


def test_watching_collects_what_is_noted_inside_and_only_there() -> None:
    tracing.record_tensor("before", torch.zeros(1))
    with tracing.trace_tensors() as seen:
        tracing.record_tensor("x", torch.zeros(1))
        tracing.record_tensor("x", torch.ones(1))
    tracing.record_tensor("after", torch.zeros(1))
    assert {name: len(tensors) for name, tensors in seen.items()} == {"x": 2}


@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_dropout_of_hardly_any_or_nearly_all(rate: float) -> None:
    torch.manual_seed(0)
    dropped = float((Dropout(rate)(torch.ones(1000, 1000)) == 0).float().mean())
    assert dropped == pytest.approx(rate, abs=2e-4)


def test_every_layers_attention_can_be_watched() -> None:
    model = build_model(
        replace(TINY, encoder=partial(TransformerEncoder, layers=2, heads=2, ffn_dim=8)), ELEVEN, ELEVEN, joint=True
    )
    with tracing.trace_tensors() as seen:
        model.encode(Padded.from_rows([[3, 4, 2]]))
    assert [(name, [tuple(one.shape) for one in tensors]) for name, tensors in seen.items()] == [
        ("encoder.0.self_attention", [(1, 2, 3, 3)]),
        ("encoder.1.self_attention", [(1, 2, 3, 3)]),
    ]


def test_an_embedding_of_letters_cannot_be_tied() -> None:
    with pytest.raises(ConfigError, match="only an embedding of the type tokens has a vector for each token"):
        build_model(replace(TINY, source=partial(CharCNN, dim=8), tie="all"), ELEVEN, ELEVEN, joint=True)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_a_decoder_can_share_the_encoders_cells(*, orthogonal: bool) -> None:
    cell = partial(LSTMCell, dim=8, orthogonal=orthogonal)
    decoder = partial(SutskeverDecoder, cell=partial(StackedCell, cell=cell, layers=2), bridge=CopyBridge)
    slots = replace(
        TINY, encoder=partial(RecurrentEncoder, cell=cell, layers=2, directions="backward"), decoder=decoder
    )
    alone = build_model(slots, ELEVEN, ELEVEN, joint=True)
    shared = build_model(replace(slots, decoder=partial(decoder, share_weights=True)), ELEVEN, ELEVEN, joint=True)
    cells = shared.encoder.sizes.cells
    assert count_parameters(alone) - count_parameters(shared) == sum(
        count_parameters(cast(nn.Module, one)) for one in cells
    )
    x, states = torch.ones(1, 1, 8), tuple(torch.randn(1, 8) for _ in range(2))
    below = shared.get_submodule("decoder.cell.cells.0")
    whole = Padded(x, torch.ones(1, 1, dtype=torch.bool))
    assert_close(cast(LSTMCell, below).run(whole, states)[0].data, cells[0].run(whole, states)[0].data)


def test_cells_that_differ_are_not_shared() -> None:
    decoder = partial(SutskeverDecoder, cell=partial(LSTMCell, dim=9), share_weights=True)
    encoder = partial(RecurrentEncoder, cell=partial(LSTMCell, dim=8), directions="forward")
    with pytest.raises(ConfigError, match=r"model\.decoder: share_weights: the encoder's cells are not the decoder's"):
        build_model(replace(TINY, encoder=encoder, decoder=decoder), ELEVEN, ELEVEN, joint=True)
