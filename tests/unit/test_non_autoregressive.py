"""Non-autoregressive models with a distribution per position: loss, score, limits and recipe checks."""

import math
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import VOCABULARY, batch
from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.core.state import FrameOutput
from weft.data.batches import Batch
from weft.decoding.ctc_decoder import BestPathDecoder
from weft.decoding.non_autoregressive import PositionwiseDecoder
from weft.decoding.search import FrameDecoderContext, LanguageModel
from weft.losses.frame_losses import PositionCrossEntropyLoss
from weft.models.build import build_model
from weft.models.encoders.chain import IdentityEncoder
from weft.models.model import Model
from weft.training.recipe_checks import check_recipe

FRAME_HEADS: dict[str, dict[str, Any]] = {
    "aligned-end": {"type": "aligned", "length_prediction": "eos"},
    "aligned-head": {"type": "aligned", "length_prediction": "classifier", "hidden_dims": [5]},
    "dense-end": {"type": "dense", "max_length": 8, "hidden_dims": [6], "length_prediction": "eos"},
    "dense-head": {"type": "dense", "max_length": 8, "hidden_dims": [6], "length_prediction": "classifier"},
}
PAIRS = batch((5, 5), (3, 2), (7, 6))


def node(frame_head: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "data": {"train": ["train.tsv"], "max_length": 7},
        "text": {"source": "character"},
        "model": {
            "source": {"dim": 4, "scale": False},
            "encoder": {"type": "recurrent", "cell": {"dim": 4}},
            "target": "none",
            "decoder": "none",
            "frame_head": frame_head,
        }
        | changes,
        "objective": "position-cross-entropy",
        "train": {"validation": {"frame_decoder": "position-wise"}},
        "translate": {"frame_decoder": "position-wise"},
    }


def make_model(frame_head: dict[str, Any], **changes: Any) -> Model:
    recipe = load_recipe(node(frame_head, **changes))
    torch.manual_seed(4)
    model = build_model(recipe.model, VOCABULARY, VOCABULARY, joint=True).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.5 * torch.randn_like(weight))
    return model


@pytest.fixture(params=FRAME_HEADS)
def model(request: pytest.FixtureRequest) -> Model:
    return make_model(FRAME_HEADS[request.param])


def no_language_model(folder: str) -> LanguageModel:
    raise FileNotFoundError(folder)


def decoder_context(*, blank: bool) -> FrameDecoderContext:
    return FrameDecoderContext(blank, VOCABULARY, lambda lines: [[] for _ in lines], no_language_model)


DECODER = PositionwiseDecoder(decoder_context(blank=False))


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_loss_equals_a_plain_loop(model: Model, label_smoothing: float) -> None:
    loss = PositionCrossEntropyLoss(OBJECTIVE_CONTEXT, label_smoothing=label_smoothing)(model, PAIRS, 1)
    frames = model.frames(PAIRS.source)
    total = likelihood = right = 0.0
    for row, target in enumerate(rows(PAIRS.target)):
        for position, token in enumerate(target):
            if token == EOS and frames.lengths is not None:
                log_probs, smoothing = frames.lengths[row], 0.0
                token = position
            else:
                log_probs, smoothing = frames.log_probs[row, position], label_smoothing
            likelihood -= log_probs[token].item()
            total -= (1 - smoothing) * log_probs[token].item() + (
                smoothing * log_probs.mean().item() if smoothing else 0.0
            )
            right += log_probs.argmax().item() == token
    assert loss.count.item() == sum(map(len, rows(PAIRS.target)))
    assert loss.total.item() == pytest.approx(total)
    assert loss.parts["nll"].item() == pytest.approx(likelihood)
    assert loss.parts["accuracy"].item() == pytest.approx(100 * right)


def rows(padded: Padded) -> list[list[int]]:
    return [row[:length] for row, length in zip(padded.data.tolist(), padded.lengths().tolist(), strict=True)]


def test_padding_does_not_change_the_loss(model: Model) -> None:
    source, target = (side.with_data(side.data.masked_fill(~side.mask, 7)) for side in (PAIRS.source, PAIRS.target))
    changed = Batch(source, target, PAIRS.corpus_indices)
    found, expected = (PositionCrossEntropyLoss(OBJECTIVE_CONTEXT)(model, pairs).total for pairs in (changed, PAIRS))
    assert_close(found, expected, atol=1e-10, rtol=0)


def test_score_is_the_log_probability_of_the_output(model: Model) -> None:
    found = DECODER(model.frames(PAIRS.source), torch.tensor([4, 1, 9]))
    for row, (hypothesis,) in enumerate(found):
        source = Padded.from_rows([rows(PAIRS.source)[row]])
        pair = Batch(source, Padded.from_rows([[*hypothesis.tokens, EOS]]), (0,))
        loss = PositionCrossEntropyLoss(OBJECTIVE_CONTEXT, label_smoothing=0.0)(model, pair)
        assert hypothesis.score == pytest.approx(-loss.total.item())
        assert hypothesis.score == pytest.approx(sum(hypothesis.token_scores))
        assert len(hypothesis.token_scores) == len(hypothesis.tokens) + 1


def test_length_limit_is_respected_and_marks_unfinished_outputs(model: Model) -> None:
    unlimited = DECODER(model.frames(PAIRS.source), torch.tensor([9, 9, 9]))
    for limit in range(3):
        found = DECODER(model.frames(PAIRS.source), torch.tensor([limit] * 3))
        for (limited,), (whole,) in zip(found, unlimited, strict=True):
            assert len(limited.tokens) <= limit
            assert limited.finished == (whole.finished and len(whole.tokens) <= limit)


def test_nan_probabilities_give_no_output() -> None:
    broken = FrameOutput(torch.full((1, 2, 5), math.nan), torch.ones(1, 2, dtype=torch.bool))
    assert DECODER(broken, torch.tensor([3])) == [[]]
    assert DECODER(broken._replace(lengths=torch.full((1, 2), math.nan)), torch.tensor([3])) == [[]]


def test_identity_encoder_makes_each_frame_depend_on_its_token_only() -> None:
    model = make_model(FRAME_HEADS["aligned-end"], encoder="identity")
    changed = PAIRS.source.data.clone()
    changed[2, 3] = 5 if changed[2, 3] != 5 else 6
    before, after = (model.frames(PAIRS.source.with_data(data)) for data in (PAIRS.source.data, changed))
    same = (before.log_probs == after.log_probs).all(-1)
    assert not same[2, 3]
    assert int((~same).sum()) == 1


def test_identity_encoder_returns_its_input() -> None:
    x = Padded(torch.randn(2, 3, 4), torch.ones(2, 3, dtype=torch.bool))
    memory = IdentityEncoder(4)(x)
    assert_close(memory.keys, x.data)
    assert memory.mask is x.mask


def test_target_needs_a_frame_per_token_and_for_eos(model: Model) -> None:
    assert model.frame_head is not None
    assert model.frame_head.required_frames(PAIRS.target).tolist() == [5, 2, 6]


def test_target_longer_than_the_frames_is_reported() -> None:
    model = make_model(FRAME_HEADS["aligned-end"])
    message = "pair 2 has too few frames: its target needs 4, and its source gives 3"
    with pytest.raises(UserError, match=message):
        PositionCrossEntropyLoss(OBJECTIVE_CONTEXT)(model, batch((5, 5), (3, 4)))


def test_source_longer_than_the_positions_is_refused() -> None:
    model = make_model(FRAME_HEADS["dense-end"])
    with pytest.raises(ValueError, match="a source of 9 tokens, EOS counted, is longer than the 8 positions"):
        model.frames(batch((9, 2)).source)


def problems(recipe: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe(recipe))
    return [(problem.place, problem.text) for problem in caught.value.problems]


def test_frame_head_needs_a_source() -> None:
    for frame_head in FRAME_HEADS.values():
        found = problems(node(frame_head, source="none", encoder="none"))
        assert (
            "model.frame_head",
            "needs a source, but model.encoder is none: only a decoder can do without one",
        ) in found


def test_identity_encoder_needs_embeddings() -> None:
    ((place, text),) = problems(node(FRAME_HEADS["dense-end"], source="none", encoder="identity"))
    assert (place, text) == (
        "model.encoder",
        "reads a source, but model.source is none: give both the type none, or neither",
    )


def test_max_length_above_the_positions_is_reported_before_training() -> None:
    recipe = node(FRAME_HEADS["dense-end"])
    recipe["data"]["max_length"] = 8
    message = "is 8, but model.frame_head has positions for 8 tokens, EOS included"
    assert problems(recipe) == [("data.max_length", message)]


def test_frame_decoders_refuse_heads_of_the_other_kind() -> None:
    with pytest.raises(UserError, match="use the frame decoder best-path or prefix-beam"):
        PositionwiseDecoder(decoder_context(blank=True))
    with pytest.raises(UserError, match="use the frame decoder position-wise"):
        BestPathDecoder(decoder_context(blank=False))
