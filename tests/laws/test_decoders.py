"""Laws 1 and 2: one step at a time = the whole sentence; padding and neighbours change nothing; no look ahead."""

import pytest
import torch
from torch.testing import assert_close

from laws.variants import MODELS, batch
from weft.config.registry import REGISTRY
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.models.model import Model
from weft.models.slots import Decoder
from weft.nn.attention import LocalPredictiveWindow
from weft.nn.memory import MemorySizes


@pytest.fixture(params=MODELS, scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    made: Model = MODELS[request.param]()
    return made


def test_stepping_equals_the_whole_sentence(model: Model) -> None:
    pairs = batch((5, 6), (3, 6))
    hidden = model.features(pairs).hidden
    whole = model.head(hidden).log_softmax(-1)
    state = model.start(model.encode(pairs.source))
    for position, tokens in enumerate(pairs.decoder_input().data.unbind(1)):
        scores, state = model.step(tokens, state)
        assert_close(scores.log_probs, whole[:, position], atol=1e-10, rtol=0)


def test_several_steps_at_once_equal_single_steps(model: Model) -> None:
    pairs = batch((5, 6), (3, 6))
    inputs = pairs.decoder_input().data
    start = model.decoder.start(model.encode(pairs.source))
    first = inputs.new_zeros(len(inputs))
    whole, _ = model.decoder(model.target(inputs, first), start)
    left, middle = model.decoder(model.target(inputs[:, :2], first), start)
    right, _ = model.decoder(model.target(inputs[:, 2:], first + 2), middle)
    assert_close(torch.cat([left.hidden, right.hidden], 1), whole.hidden, atol=1e-10, rtol=0)


def test_hypotheses_of_a_sentence_share_its_memory(model: Model) -> None:
    pairs = batch((5, 4), (3, 4))
    state = model.start(model.encode(pairs.source))
    wide = state.select(torch.arange(2), torch.tensor([0, 0, 0, 1, 1, 1]))
    tokens = torch.tensor([3, 4, 5, 3, 4, 5])
    together, wide = model.step(tokens, wide)
    again, _ = model.step(tokens.flip(0), wide)
    for number in range(6):
        alone = state.select(torch.tensor([number // 3]), torch.tensor([number // 3]))
        scores, alone = model.step(tokens[number : number + 1], alone)
        assert_close(together.log_probs[number], scores.log_probs[0], atol=1e-10, rtol=0)
        scores, _ = model.step(tokens.flip(0)[number : number + 1], alone)
        assert_close(again.log_probs[number], scores.log_probs[0], atol=1e-10, rtol=0)


def test_a_batch_of_two_equals_two_batches_of_one(model: Model) -> None:
    pairs = batch((6, 3), (2, 5))
    together = model.features(pairs)
    for row in range(2):
        single = one_row(pairs, row)
        alone = model.features(single)
        length = single.target.data.shape[1]
        assert_close(together.hidden[row, :length], alone.hidden[0], atol=1e-10, rtol=0)


def test_what_stands_in_the_padding_changes_nothing(model: Model) -> None:
    pairs = batch((6, 5), (2, 5))
    scribbled = pairs.source.data.masked_fill(~pairs.source.mask, 7)
    changed = pairs._replace(source=pairs.source.with_data(scribbled))
    assert_close(model.features(changed).hidden, model.features(pairs).hidden, atol=1e-12, rtol=0)


def test_no_gradient_comes_from_the_future(model: Model) -> None:
    pairs = batch((4, 6))
    inputs = pairs.decoder_input().data
    embedded = model.target(inputs, inputs.new_zeros(1)).detach().requires_grad_()
    output, _ = model.decoder(embedded, model.decoder.start(model.encode(pairs.source)))
    (gradient,) = torch.autograd.grad(output.hidden[:, 2, 0].sum(), embedded)
    assert gradient[:, :3].abs().sum() > 0
    assert gradient[:, 3:].abs().sum() == 0


def test_attention_is_a_share_of_one_over_real_positions(model: Model) -> None:
    """A whole one, but for windows that fade out, as Luong's local-p does."""
    pairs = batch((6, 3), (2, 3))
    attention = model.features(pairs).attention
    if attention is not None:
        total, fades = attention.sum(-1), any(isinstance(part, LocalPredictiveWindow) for part in model.modules())
        assert (attention >= 0).all()
        assert (total <= 1 + 1e-10).all()
        assert fades or (total >= 1 - 1e-10).all()
        assert attention[1, :, 2:].abs().sum() == 0


def one_row(pairs: Batch, row: int) -> Batch:
    """The row alone, without its padding."""

    def trimmed(padded: Padded) -> Padded:
        length = int(padded.lengths()[row])
        return Padded(padded.data[row : row + 1, :length], padded.mask[row : row + 1, :length])

    return Batch(trimmed(pairs.source), trimmed(pairs.target), (row,))


@pytest.mark.parametrize("name", sorted(REGISTRY[Decoder].keys() - {"none"}))
def test_a_decoder_says_that_it_must_be_fed(name: str) -> None:
    with pytest.raises(ValueError, match=r"reads the tokens it has written, but model\.target is none"):
        REGISTRY[Decoder][name](0, MemorySizes(4, 4))
