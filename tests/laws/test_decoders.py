"""Laws 1 and 2: single steps equal the whole sentence; padding and other rows change nothing; decoders are causal."""

import pytest
import torch
from torch.testing import assert_close

from laws.variants import MODELS, batch
from weft.config.registry import REGISTRY
from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.models.interfaces import Decoder
from weft.models.model import Model
from weft.nn.attention import LocalPredictiveWindow
from weft.nn.encoder_memory import MemorySizes

WITHOUT_ATTENTION = tuple(REGISTRY[Decoder][name] for name in ("sutskever", "cho", "kalchbrenner"))


@pytest.fixture(params=MODELS, scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    result: Model = MODELS[request.param]()
    return result


def test_single_steps_equal_whole_sentence(model: Model) -> None:
    pairs = batch((5, 6), (3, 6))
    hidden = model.features(pairs).hidden
    whole = model.head(hidden).log_softmax(-1)
    state = model.start(model.encode(pairs.source))
    for position, tokens in enumerate(pairs.decoder_input().data.unbind(1)):
        scores, state = model.step(tokens, state)
        assert_close(scores.log_probs, whole[:, position], atol=1e-10, rtol=0)


def test_several_calls_equal_whole_sentence(model: Model) -> None:
    pairs = batch((5, 6), (3, 6))
    inputs = pairs.decoder_input().data
    start = model.decoder.start(model.encode(pairs.source))
    first = inputs.new_zeros(len(inputs))
    whole, _ = model.decoder(model.target(inputs, first), start)
    left, middle = model.decoder(model.target(inputs[:, :2], first), start)
    right, _ = model.decoder(model.target(inputs[:, 2:], first + 2), middle)
    assert_close(torch.cat([left.hidden, right.hidden], 1), whole.hidden, atol=1e-10, rtol=0)


def test_hypotheses_share_memory_of_sentence(model: Model) -> None:
    pairs = batch((5, 4), (3, 4))
    state = model.start(model.encode(pairs.source))
    wide = state.select(torch.arange(2), torch.tensor([0, 0, 0, 1, 1, 1]))
    tokens = torch.tensor([3, 4, 5, 3, 4, 5])
    batched, wide = model.step(tokens, wide)
    second, _ = model.step(tokens.flip(0), wide)
    for number in range(6):
        single = state.select(torch.tensor([number // 3]), torch.tensor([number // 3]))
        scores, single = model.step(tokens[number : number + 1], single)
        assert_close(batched.log_probs[number], scores.log_probs[0], atol=1e-10, rtol=0)
        scores, _ = model.step(tokens.flip(0)[number : number + 1], single)
        assert_close(second.log_probs[number], scores.log_probs[0], atol=1e-10, rtol=0)


def test_batch_of_two_equals_two_batches_of_one(model: Model) -> None:
    pairs = batch((6, 3), (2, 5))
    batched = model.features(pairs)
    for row in range(2):
        row_pairs = single_row(pairs, row)
        single = model.features(row_pairs)
        length = row_pairs.target.data.shape[1]
        assert_close(batched.hidden[row, :length], single.hidden[0], atol=1e-10, rtol=0)


def test_padding_values_do_not_change_output(model: Model) -> None:
    pairs = batch((6, 5), (2, 5))
    padding_changed = pairs.source.data.masked_fill(~pairs.source.mask, 7)
    changed = pairs._replace(source=pairs.source.with_data(padding_changed))
    assert_close(model.features(changed).hidden, model.features(pairs).hidden, atol=1e-12, rtol=0)


def test_output_does_not_depend_on_later_tokens(model: Model) -> None:
    pairs = batch((4, 6))
    inputs = pairs.decoder_input().data
    embedded = model.target(inputs, inputs.new_zeros(1)).detach().requires_grad_()
    output, _ = model.decoder(embedded, model.decoder.start(model.encode(pairs.source)))
    (gradient,) = torch.autograd.grad(output.hidden[:, 2, 0].sum(), embedded)
    assert gradient[:, :3].abs().sum() > 0
    assert gradient[:, 3:].abs().sum() == 0


def has_attention(model: Model) -> bool:
    """Whether the decoder attends to a source. A new decoder without attention is added to WITHOUT_ATTENTION."""
    has_source = bool(model.encoder.sizes.keys)
    return has_source and not isinstance(model.decoder, WITHOUT_ATTENTION)


def test_attention_sums_to_at_most_one_over_unpadded_positions(model: Model) -> None:
    """To exactly one, except with a Gaussian window (Luong's local-p); None for decoders without attention."""
    pairs = batch((6, 3), (2, 3))
    attention = model.features(pairs).attention
    assert (attention is not None) == has_attention(model)
    if attention is not None:
        total = attention.sum(-1)
        is_gaussian = any(isinstance(module, LocalPredictiveWindow) for module in model.modules())
        assert (attention >= 0).all()
        assert (total <= 1 + 1e-10).all()
        assert is_gaussian or (total >= 1 - 1e-10).all()
        assert attention[1, :, 2:].abs().sum() == 0


def single_row(pairs: Batch, row: int) -> Batch:
    """Return one row without its padding."""

    def trim(padded: Padded) -> Padded:
        length = int(padded.lengths()[row])
        return Padded(padded.data[row : row + 1, :length], padded.mask[row : row + 1, :length])

    return Batch(trim(pairs.source), trim(pairs.target), (row,))


@pytest.mark.parametrize("name", sorted(REGISTRY[Decoder].keys() - {"none"}))
def test_decoder_without_target_embedding_is_reported(name: str) -> None:
    with pytest.raises(ValueError, match=r"reads the tokens it has written, but model\.target is none"):
        REGISTRY[Decoder][name](0, MemorySizes(4, 4))
