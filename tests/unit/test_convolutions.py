"""What the laws do not say about convolutional systems: first values, gradients, what is carried, mistakes."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from weft.config.reader import describe, read_part
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError
from weft.core.marks import NAMES
from weft.core.padded import Padded
from weft.model.build import Slots, build
from weft.model.decoders.convs2s import ConvS2SDecoder
from weft.model.decoders.gnmt import GNMT
from weft.model.decoders.kalchbrenner import KalchbrennerDecoder
from weft.model.decoders.sutskever import Sutskever
from weft.model.decoders.transformer import TransformerDecoder
from weft.model.encoders.convolutional import Convolutional
from weft.model.encoders.convs2s import ConvS2SEncoder
from weft.model.encoders.kalchbrenner import KalchbrennerEncoder
from weft.model.roles import Encoder
from weft.nn.bridges import Linear
from weft.nn.convolution import Blocks, GatedConvolution, shapes
from weft.nn.embedding import Embedding, NoEmbedding
from weft.nn.memory import Memory, Sizes
from weft.nn.positions import Learned

ELEVEN = [*NAMES, *"abcdefgh"]
SLOTS = Slots(
    source=partial(Embedding, dim=8),
    encoder=partial(ConvS2SEncoder, layers=1, dim=4),
    target=partial(Embedding, dim=8),
    decoder=partial(ConvS2SDecoder, layers=1, dim=4),
)


def test_a_gated_convolution_keeps_the_variance() -> None:
    """Also when it is given what dropout has made larger."""
    torch.manual_seed(0)
    for dropped in (0.0, 0.5):
        x = torch.randn(8, 102, 64) / (1 - dropped) ** 0.5
        y = GatedConvolution(64, 64, kernel=3, dropped=dropped)(x)
        assert 0.8 < float(y.detach().square().mean()) < 1.6  # sigmoid(B)^2 is a little more than a quarter


def test_embeddings_and_positions_start_with_the_deviation_that_is_asked_for() -> None:
    torch.manual_seed(0)
    assert abs(float(Embedding(ELEVEN * 100, dim=64, deviation=0.1).weight.detach().std()) - 0.1) < 0.002
    assert abs(float(Embedding(ELEVEN * 100, dim=64).weight.detach().std()) - 0.125) < 0.002
    assert abs(float(Learned(64, limit=1000, deviation=0.1).table.detach().std()) - 0.1) < 0.002


def test_gradients_of_the_layers_are_divided_by_the_attentions_and_those_of_the_embeddings_are_not() -> None:
    def gradients(attentions: int, *, of_values: bool) -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        encoder = ConvS2SEncoder(8, layers=1, dim=4, attentions=attentions).double()
        x = torch.randn(1, 5, 8, dtype=torch.float64, requires_grad=True)
        memory = encoder(Padded.whole(x))
        read = memory.values - 0.5**0.5 * memory.keys if of_values else memory.keys  # the first is e alone
        layers, embeddings = torch.autograd.grad(read.square().sum(), [encoder.leave.bias, x])
        return layers, embeddings

    one, four = gradients(1, of_values=False), gradients(4, of_values=False)
    assert_close(one[0], 4 * four[0])
    assert_close(one[1], 4 * four[1])
    assert_close(gradients(1, of_values=True)[1], gradients(4, of_values=True)[1])


def test_a_decoder_carries_the_last_inputs_of_each_layer_alone() -> None:
    torch.manual_seed(0)
    decoder = ConvS2SDecoder(8, Sizes(8, 8), layers=1, dim=4, kernel=3, above=(Blocks(dim=6, kernel=1), Blocks(dim=6)))
    annotations = torch.randn(2, 5, 8)
    _, state = decoder(torch.randn(2, 9, 8), decoder.start(Memory(annotations, annotations, torch.ones(2, 5) > 0)))
    assert [tuple(past.shape) for past in state.carry if isinstance(past, Tensor)] == [(2, 2, 4), (2, 0, 4), (2, 2, 6)]


def test_layers_of_other_sizes_are_written_as_blocks() -> None:
    node = {"type": "convs2s", "layers": 2, "dim": 4, "above": [{"layers": 2, "dim": 6, "kernel": 1}, {"dim": 8}]}
    make = read_part(node, Encoder, REGISTRY)
    assert describe(make, REGISTRY)["above"][1] == {"layers": 1, "dim": 8, "kernel": 3}
    sizes = [*shapes((Blocks(layers=2, dim=4), Blocks(layers=2, dim=6, kernel=1), Blocks(dim=8)))]
    assert sizes == [(4, 4, 3), (4, 4, 3), (4, 6, 1), (6, 6, 1), (6, 8, 3)]
    made = make(5)
    assert [layer.convolution.linear.direction.shape[1] for layer in made.layers] == [12, 12, 4, 6, 18]


@pytest.mark.parametrize("length", range(1, 30))
def test_a_sentence_of_any_length_becomes_one_vector_that_knows_all_of_it(length: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, length, 4, dtype=torch.float64, requires_grad=True)
    memory = KalchbrennerEncoder(4, layers=2).double()(Padded.whole(x))
    assert memory.keys.shape == (1, 1, 4)
    (gradient,) = torch.autograd.grad(memory.keys.sum(), x)
    assert (gradient != 0).all()


def test_kernels_past_the_last_are_the_last_again() -> None:
    encoder = KalchbrennerEncoder(4, layers=3)
    assert [kernel.width for kernel in encoder._needed(13)] == [2, 3, 4, 4, 4]
    assert [kernel.width for kernel in encoder._needed(1)] == []


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        (
            replace(SLOTS, target=partial(Embedding, dim=6)),
            "model.decoder: asks with vectors as wide as the target embedding, 6, but the encoder leaves vectors of "
            "width 8: make the two equal",
        ),
        (
            replace(SLOTS, decoder=partial(ConvS2SDecoder, layers=2, dim=4, above=(Blocks(dim=4),))),
            "model.decoder: reads the encoder's memory in 3 layers, but the encoder divides its gradient by 1 (its "
            "attentions): write attentions: 3 in model.encoder",
        ),
        *(
            (
                replace(SLOTS, encoder=partial(ConvS2SEncoder, dim=4, attentions=3), decoder=decoder),
                f"model.decoder: reads the encoder's memory in {layers}, but the encoder divides its gradient by 3",
            )
            for decoder, layers in (
                (partial(TransformerDecoder, layers=2, heads=2, hidden=8), "2 layers"),
                (partial(GNMT, layers=2), "1 layer"),
                (partial(Sutskever, bridge=partial(Linear, of="mean")), "1 layer"),
                (KalchbrennerDecoder, "1 layer"),
            )
        ),
        (
            replace(SLOTS, encoder=partial(Convolutional, dim=8, widths=(1, 3, 5))),
            "model.encoder: widths: 3 are given; give as many as divide the dim of 8, such as [3] or [1, 3]",
        ),
        (
            replace(SLOTS, encoder=partial(Convolutional, widths=())),
            "model.encoder: widths: 0 are given; give as many as divide the dim of 256, such as [3] or [1, 3]",
        ),
        *(
            (
                replace(SLOTS, source=NoEmbedding, encoder=encoder),
                "model.encoder: reads a source, but model.source is none: give both the type none, or neither",
            )
            for encoder in (ConvS2SEncoder, Convolutional, KalchbrennerEncoder)
        ),
        *(
            (
                replace(SLOTS, source=NoEmbedding, encoder=REGISTRY[Encoder]["none"], decoder=decoder),
                "model.decoder: needs a source, but model.encoder is none",
            )
            for decoder in (ConvS2SDecoder, KalchbrennerDecoder)
        ),
    ],
)
def test_sizes_that_do_not_fit_are_told(slots: Slots, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build(slots, ELEVEN, ELEVEN, joint=True)
    assert message in str(error.value)
