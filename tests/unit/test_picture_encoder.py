"""Pictures through a model: what is beside a picture in a batch changes nothing."""

from functools import partial
from typing import Literal

import pytest
import torch
from torch.testing import assert_close

from weft.core.padded import Padded
from weft.data.batches import Batch
from weft.data.padding import pad
from weft.model.build import Slots, build
from weft.model.decoders.luong import Luong
from weft.model.encoders.chain import Chain
from weft.model.encoders.picture import PictureEncoder, shortened
from weft.model.encoders.recurrent import Recurrent
from weft.model.model import Model
from weft.nn.cells.gru import GRU
from weft.nn.embedding import Embedding
from weft.nn.pixels import Pixels

HEIGHT = 9
ROWS = [f"row {number}" for number in range(HEIGHT)]


def model(shrink: Literal[1, 2, 4]) -> Model:
    encoders = (
        partial(PictureEncoder, layers=3, filters=3, shrink=shrink, dim=6),
        partial(Recurrent, cell=partial(GRU, dim=4)),
    )
    slots = Slots(
        source=Pixels,
        encoder=partial(Chain, encoders=encoders),
        target=partial(Embedding, dim=5),
        decoder=partial(Luong, cell=partial(GRU, dim=8), dim=8),
    )
    torch.manual_seed(1)
    made = build(slots, ROWS, ["a"] * 7, joint=False).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return made


def pictures(*widths: int) -> Padded:
    draws = torch.Generator().manual_seed(2)
    return pad([torch.randint(0, 256, (width, HEIGHT), generator=draws, dtype=torch.uint8).numpy() for width in widths])


def batch(source: Padded) -> Batch:
    rows = len(source.data)
    return Batch(source, Padded.whole(torch.tensor([[3, 4, 2]] * rows)), tuple(range(rows)))


@pytest.mark.parametrize("shrink", [1, 2, 4])
def test_a_batch_of_pictures_equals_each_alone(shrink: Literal[1, 2, 4]) -> None:
    made, widths = model(shrink), (13, 1, 6, 7, 0)
    together = pictures(*widths)
    scribbled = together.with_data(together.data.masked_fill(~together.mask[:, :, None], 200))
    hidden = made.features(batch(scribbled)).hidden
    for row, width in enumerate(widths):
        alone = Padded(together.data[row : row + 1, : width + 1], together.mask[row : row + 1, : width + 1])
        assert_close(made.features(batch(alone)).hidden[0], hidden[row], atol=1e-12, rtol=0)


@pytest.mark.parametrize("shrink", [1, 2, 4])
def test_the_memory_is_as_long_as_the_rule_says(shrink: Literal[1, 2, 4]) -> None:
    source = pictures(13, 1, 6, 7, 0)
    memory = model(shrink).encode(source)
    assert torch.equal(memory.mask, shortened(source.mask, shrink))
    assert memory.mask.sum(1).tolist() == [-(-length // shrink) for length in source.lengths().tolist()]
    assert memory.keys.shape[:2] == memory.mask.shape


def test_a_pixel_far_away_is_not_seen_and_a_near_one_is() -> None:
    """Three layers see 1 + 2 + 2 columns to each side of one, where the first halves the width."""
    encoder = PictureEncoder(HEIGHT, layers=3, filters=3, shrink=2, dim=6).double()
    columns = torch.rand(1, 40, HEIGHT, dtype=torch.float64).requires_grad_()
    keys = encoder(Padded.whole(columns)).keys
    (gradient,) = torch.autograd.grad(keys[0, 10].sum(), columns)
    seen = gradient[0].abs().sum(1).nonzero().flatten()
    assert (int(seen.min()), int(seen.max())) == (15, 25)


def test_a_chain_gives_each_the_memory_of_the_one_before() -> None:
    torch.manual_seed(1)
    chain = Chain(HEIGHT, encoders=(partial(PictureEncoder, dim=6), partial(Recurrent, cell=partial(GRU, dim=4))))
    x = Padded.whole(torch.rand(2, 11, HEIGHT))
    first, second = chain.encoders
    by_hand = second(first(x).padded())
    assert torch.equal(chain(x).keys, by_hand.keys)
    assert (chain.sizes.keys, by_hand.keys.shape[1:]) == (8, (6, 8))


def test_pixels_are_between_paper_and_ink() -> None:
    vectors = Pixels(ROWS)(torch.tensor([[[0] * HEIGHT, [255] * HEIGHT]], dtype=torch.uint8), torch.zeros(1))
    assert_close(vectors, torch.tensor([0.0, 1.0])[None, :, None].expand(1, 2, HEIGHT))
