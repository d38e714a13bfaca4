"""Image encoders: results do not depend on the batch."""

from functools import partial
from typing import Literal

import pytest
import torch
from torch.testing import assert_close

from weft.core.padded import Padded
from weft.data.batches import Batch, pad_rows
from weft.models.build import ModelConfig, build_model
from weft.models.decoders.luong import LuongDecoder
from weft.models.encoders.chain import EncoderChain
from weft.models.encoders.image_cnn import ImageEncoder
from weft.models.encoders.recurrent import RecurrentEncoder
from weft.models.model import Model
from weft.nn.cells.gru import GRUCell
from weft.nn.embedding import PixelEmbedding, TokenEmbedding

HEIGHT = 9
ROWS = [f"row {number}" for number in range(HEIGHT)]


def build_image_model(subsampling: Literal[1, 2, 4]) -> Model:
    encoders = (
        partial(ImageEncoder, layers=3, channels=3, subsampling=subsampling, dim=6),
        partial(RecurrentEncoder, cell=partial(GRUCell, dim=4)),
    )
    slots = ModelConfig(
        source=PixelEmbedding,
        encoder=partial(EncoderChain, encoders=encoders),
        target=partial(TokenEmbedding, dim=5),
        decoder=partial(LuongDecoder, cell=partial(GRUCell, dim=8), dim=8),
    )
    torch.manual_seed(1)
    built = build_model(slots, ROWS, ["a"] * 7, joint=False).double().eval()
    with torch.no_grad():
        for weight in built.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return built


def random_images(*widths: int) -> Padded:
    draws = torch.Generator().manual_seed(2)
    return pad_rows(
        [torch.randint(0, 256, (width, HEIGHT), generator=draws, dtype=torch.uint8).numpy() for width in widths]
    )


def batch(source: Padded) -> Batch:
    rows = len(source.data)
    return Batch(source, Padded.unpadded(torch.tensor([[3, 4, 2]] * rows)), tuple(range(rows)))


@pytest.mark.parametrize("subsampling", [1, 2, 4])
def test_batched_images_equal_single_images(subsampling: Literal[1, 2, 4]) -> None:
    model, widths = build_image_model(subsampling), (13, 1, 6, 7, 0)
    together = random_images(*widths)
    noisy_padding = together.with_data(together.data.masked_fill(~together.mask[:, :, None], 200))
    hidden = model.features(batch(noisy_padding)).hidden
    for row, width in enumerate(widths):
        alone = Padded(together.data[row : row + 1, : width + 1], together.mask[row : row + 1, : width + 1])
        assert_close(model.features(batch(alone)).hidden[0], hidden[row], atol=1e-12, rtol=0)


@pytest.mark.parametrize("subsampling", [1, 2, 4])
def test_memory_length_follows_subsampling(subsampling: Literal[1, 2, 4]) -> None:
    source = random_images(13, 1, 6, 7, 0)
    memory = build_image_model(subsampling).encode(source)
    assert torch.equal(memory.mask, source.mask[:, ::subsampling])
    assert memory.mask.sum(1).tolist() == [-(-length // subsampling) for length in source.lengths().tolist()]
    assert memory.keys.shape[:2] == memory.mask.shape


def test_receptive_field() -> None:
    """Three layers reach 1 + 2 + 2 columns to each side; the first halves the width."""
    encoder = ImageEncoder(HEIGHT, layers=3, channels=3, subsampling=2, dim=6).double()
    columns = torch.rand(1, 40, HEIGHT, dtype=torch.float64).requires_grad_()
    keys = encoder(Padded.unpadded(columns)).keys
    (gradient,) = torch.autograd.grad(keys[0, 10].sum(), columns)
    in_field = gradient[0].abs().sum(1).nonzero().flatten()
    assert (int(in_field.min()), int(in_field.max())) == (15, 25)


def test_chain_passes_memory_to_the_next_encoder() -> None:
    torch.manual_seed(1)
    chain = EncoderChain(
        HEIGHT, encoders=(partial(ImageEncoder, dim=6), partial(RecurrentEncoder, cell=partial(GRUCell, dim=4)))
    )
    x = Padded.unpadded(torch.rand(2, 11, HEIGHT))
    first, second = chain.encoders
    expected = second(first(x).padded())
    assert torch.equal(chain(x).keys, expected.keys)
    assert (chain.sizes.keys, expected.keys.shape[1:]) == (8, (6, 8))


def test_pixels_are_scaled_to_0_and_1() -> None:
    vectors = PixelEmbedding(ROWS)(torch.tensor([[[0] * HEIGHT, [255] * HEIGHT]], dtype=torch.uint8), torch.zeros(1))
    assert_close(vectors, torch.tensor([0.0, 1.0])[None, :, None].expand(1, 2, HEIGHT))
