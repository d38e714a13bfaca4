"""Law 4: chunked cross-entropy and its gradients equal torch's own."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.variants import batch, make, small
from weft.config.registry import REGISTRY
from weft.losses.cross_entropy import CrossEntropyLoss, chunk_length, chunked_cross_entropy
from weft.models.build import ModelConfig
from weft.models.heads import LinearHead
from weft.models.interfaces import Decoder, Embedder, Encoder, Head


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk_size", [1, 4, None])
@pytest.mark.parametrize("bias", [True, False])
def test_cross_entropy_and_gradients_equal_torch(label_smoothing: float, chunk_size: int | None, bias: bool) -> None:
    embedding = small(REGISTRY[Embedder]["tokens"])
    model = make(
        ModelConfig(
            source=embedding,
            encoder=small(REGISTRY[Encoder]["transformer"]),
            target=embedding,
            decoder=small(REGISTRY[Decoder]["transformer"]),
            head=partial(REGISTRY[Head]["linear"], bias=bias),
        )
    )
    pairs = batch((4, 6), (5, 3))
    loss = CrossEntropyLoss(OBJECTIVE_CONTEXT, label_smoothing=label_smoothing, chunk_size=chunk_size)(model, pairs)
    logits = model.head(model.features(pairs).hidden)[pairs.target.mask]
    targets = pairs.target.data[pairs.target.mask]
    expected = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=label_smoothing)
    assert_close(loss.total, expected)
    assert_close(loss.parts["nll"], F.cross_entropy(logits, targets, reduction="sum"))
    assert loss.parts["accuracy"].item() == 100 * (logits.argmax(-1) == targets).sum().item()
    assert int(loss.count) == 9
    weights = list(model.parameters())
    ours = torch.autograd.grad(2 * loss.total, weights, allow_unused=True)
    theirs = torch.autograd.grad(2 * expected, weights, allow_unused=True)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine, other)


def test_loss_of_improbable_token_is_finite_and_exact() -> None:
    head = LinearHead(1, 3)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1.0], [-1.0], [0.0]]))
    hidden = torch.tensor([[200.0], [-3000.0]])  # e^-400 is 0 in float32
    _, likelihood, right = chunked_cross_entropy(hidden, head, torch.tensor([1, 1]), label_smoothing=0.0, chunk_size=1)
    assert (likelihood.item(), right.item()) == (400.0, 1)


def gradients(hidden: Tensor, head: LinearHead, targets: Tensor, scale: float = 1.0) -> list[Tensor]:
    """Return the gradients of the scaled loss with respect to hidden, weight and bias."""
    hidden = hidden.detach().requires_grad_()
    total, _, _ = chunked_cross_entropy(hidden, head, targets, label_smoothing=0.1, chunk_size=None)
    return [*torch.autograd.grad(total * scale, [hidden, *head.parameters()])]


def test_bfloat16_sums_over_positions_are_rounded_once() -> None:
    torch.manual_seed(1)
    head = LinearHead(8, 16).bfloat16()
    targets = (16 * torch.rand(8192) ** 4).long()  # some classes are much more frequent
    hidden = torch.randn(8192, 8).bfloat16()
    actual = gradients(hidden, head, targets)
    expected = gradients(hidden.double(), head.double(), targets)
    for mine, other in zip(actual, expected, strict=True):
        assert (mine - other).norm() <= 2**-8 * other.norm()  # half of the last digit of bfloat16


def test_float16_overflow_is_avoided_by_smaller_loss_scale() -> None:
    head, targets = LinearHead(2, 4).half(), torch.zeros(40_000, dtype=torch.long)
    torch.nn.init.zeros_(head.weight)
    hidden = torch.tensor([[3.0, -1.0]]).half().expand(40_000, -1)
    overflowing = gradients(hidden, head, targets)  # 40,000 * 0.675 * 3 does not fit
    assert not all(gradient.isfinite().all() for gradient in overflowing)
    actual = gradients(hidden, head, targets, 2**-4)
    for mine, other in zip(actual, gradients(hidden.double(), head.double(), targets, 2**-4), strict=True):
        assert_close(mine.double(), other, rtol=2e-3, atol=1e-3)


def test_chunks_are_longer_on_gpu() -> None:
    cpu_tensor, other_device = torch.empty(1, dtype=torch.bfloat16), torch.empty(1, dtype=torch.bfloat16, device="meta")
    assert (
        chunk_length(cpu_tensor.float(), None),
        chunk_length(cpu_tensor, None),
        chunk_length(other_device, None),
    ) == (
        128,
        256,
        2048,
    )
    assert chunk_length(other_device, 7) == 7
