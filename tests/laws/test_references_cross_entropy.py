"""Law 4: cross-entropy, computed some positions at a time, equals torch's own, with every gradient."""

from functools import partial

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from laws.given import GIVEN
from laws.variants import batch, make, small
from weft.config.registry import REGISTRY
from weft.model.build import Slots
from weft.model.roles import Decoder, Embed, Encoder, Head
from weft.objective.cross_entropy import CrossEntropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 4, 512])
@pytest.mark.parametrize("bias", [True, False])
def test_cross_entropy_and_its_gradients_are_torchs(smoothing: float, chunk: int, bias: bool) -> None:
    embedding = small(REGISTRY[Embed]["tokens"])
    model = make(
        Slots(
            source=embedding,
            encoder=small(REGISTRY[Encoder]["transformer"]),
            target=embedding,
            decoder=small(REGISTRY[Decoder]["transformer"]),
            head=partial(REGISTRY[Head]["linear"], bias=bias),
        )
    )
    pairs = batch((4, 6), (5, 3))
    loss = CrossEntropy(GIVEN, smoothing=smoothing, chunk=chunk)(model, pairs)
    logits = model.head(model.features(pairs).hidden)[pairs.target.mask]
    targets = pairs.target.data[pairs.target.mask]
    expected = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    assert_close(loss.total, expected)
    assert_close(loss.parts["nll"], F.cross_entropy(logits, targets, reduction="sum"))
    assert loss.parts["accuracy"].item() == 100 * (logits.argmax(-1) == targets).sum().item()
    assert int(loss.count) == 9
    weights = list(model.parameters())
    ours = torch.autograd.grad(2 * loss.total, weights, allow_unused=True)
    theirs = torch.autograd.grad(2 * expected, weights, allow_unused=True)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine, other)
