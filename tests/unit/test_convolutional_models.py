"""Convolutional models: initialization, gradients, decoder state and configuration errors."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from weft.config.registry import REGISTRY
from weft.config.serialization import component_from_dict, to_dict
from weft.core.errors import ConfigError
from weft.core.padded import Padded
from weft.core.special_tokens import SPECIAL_TOKENS
from weft.models.build import ModelConfig, build_model
from weft.models.convs2s import ConvS2SDecoder, ConvS2SEncoder
from weft.models.decoders.gnmt import GNMTDecoder
from weft.models.decoders.sutskever import SutskeverDecoder
from weft.models.encoders.convolutional import ConvolutionalEncoder
from weft.models.interfaces import Encoder
from weft.models.kalchbrenner import KalchbrennerDecoder, KalchbrennerEncoder
from weft.models.transformer import TransformerDecoder
from weft.nn.bridges import LinearBridge
from weft.nn.convolution import ConvLayerGroup, GatedConvolution, conv_layer_sizes
from weft.nn.embedding import NoEmbedding, TokenEmbedding
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.positional_encoding import LearnedPositions

VOCABULARY = [*SPECIAL_TOKENS, *"abcdefgh"]
SLOTS = ModelConfig(
    source=partial(TokenEmbedding, dim=8),
    encoder=partial(ConvS2SEncoder, layers=1, dim=4),
    target=partial(TokenEmbedding, dim=8),
    decoder=partial(ConvS2SDecoder, layers=1, dim=4),
)


def test_gated_convolution_preserves_variance() -> None:
    """Also for inputs scaled up by dropout."""
    torch.manual_seed(0)
    for dropout in (0.0, 0.5):
        x = torch.randn(8, 102, 64) / (1 - dropout) ** 0.5
        y = GatedConvolution(64, 64, kernel_size=3, dropout=dropout)(x)
        assert 0.8 < float(y.detach().square().mean()) < 1.6  # sigmoid(B)^2 is a little more than a quarter


def test_embeddings_and_positions_are_initialized_with_init_std() -> None:
    torch.manual_seed(0)
    assert abs(float(TokenEmbedding(VOCABULARY * 100, dim=64, init_std=0.1).weight.detach().std()) - 0.1) < 0.002
    assert abs(float(TokenEmbedding(VOCABULARY * 100, dim=64).weight.detach().std()) - 0.125) < 0.002
    assert abs(float(LearnedPositions(64, max_length=1000, init_std=0.1).table.detach().std()) - 0.1) < 0.002


def test_only_encoder_layer_gradients_are_divided_by_attention_layers() -> None:
    def gradients(attention_layers: int, *, of_values: bool) -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        encoder = ConvS2SEncoder(8, layers=1, dim=4, attention_layers=attention_layers).double()
        x = torch.randn(1, 5, 8, dtype=torch.float64, requires_grad=True)
        memory = encoder(Padded.unpadded(x))
        # values minus scaled keys: the embedding alone
        output = memory.values - 0.5**0.5 * memory.keys if of_values else memory.keys
        layers, embeddings = torch.autograd.grad(output.square().sum(), [encoder.output_map.bias, x])
        return layers, embeddings

    single, four = gradients(1, of_values=False), gradients(4, of_values=False)
    assert_close(single[0], 4 * four[0])
    assert_close(single[1], 4 * four[1])
    assert_close(gradients(1, of_values=True)[1], gradients(4, of_values=True)[1])


def test_decoder_state_holds_only_the_last_inputs_of_each_layer() -> None:
    torch.manual_seed(0)
    decoder = ConvS2SDecoder(
        8,
        MemorySizes(8, 8),
        layers=1,
        dim=4,
        kernel_size=3,
        upper_layers=(ConvLayerGroup(dim=6, kernel_size=1), ConvLayerGroup(dim=6)),
    )
    annotations = torch.randn(2, 5, 8)
    _, state = decoder(torch.randn(2, 9, 8), decoder.start(Memory(annotations, annotations, torch.ones(2, 5) > 0)))
    assert [tuple(past.shape) for past in state.carry if isinstance(past, Tensor)] == [(2, 2, 4), (2, 0, 4), (2, 2, 6)]


def test_upper_layers_are_configured_as_groups() -> None:
    node = {
        "type": "convs2s",
        "layers": 2,
        "dim": 4,
        "upper_layers": [{"layers": 2, "dim": 6, "kernel_size": 1}, {"dim": 8}],
    }
    make = component_from_dict(node, Encoder, REGISTRY)
    assert to_dict(make, REGISTRY)["upper_layers"][1] == {"layers": 1, "dim": 8, "kernel_size": 3}
    sizes = [
        *conv_layer_sizes(
            (ConvLayerGroup(layers=2, dim=4), ConvLayerGroup(layers=2, dim=6, kernel_size=1), ConvLayerGroup(dim=8))
        )
    ]
    assert sizes == [(4, 4, 3), (4, 4, 3), (4, 6, 1), (6, 6, 1), (6, 8, 3)]
    encoder = make(5)
    assert [layer.convolution.linear.direction.shape[1] for layer in encoder.layers] == [12, 12, 4, 6, 18]


@pytest.mark.parametrize("length", range(1, 30))
def test_kalchbrenner_vector_depends_on_every_token(length: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, length, 4, dtype=torch.float64, requires_grad=True)
    memory = KalchbrennerEncoder(4, layers=2).double()(Padded.unpadded(x))
    assert memory.keys.shape == (1, 1, 4)
    (gradient,) = torch.autograd.grad(memory.keys.sum(), x)
    assert (gradient != 0).all()


def test_last_kernel_is_repeated() -> None:
    encoder = KalchbrennerEncoder(4, layers=3)
    assert [kernel.width for kernel in encoder._kernels_for(13)] == [2, 3, 4, 4, 4]
    assert [kernel.width for kernel in encoder._kernels_for(1)] == []


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        (
            replace(SLOTS, target=partial(TokenEmbedding, dim=6)),
            "model.decoder: attends with queries as wide as the target embedding, 6, but the encoder returns vectors "
            "of width 8: make the two equal",
        ),
        (
            replace(SLOTS, decoder=partial(ConvS2SDecoder, layers=2, dim=4, upper_layers=(ConvLayerGroup(dim=4),))),
            "model.decoder: reads the encoder's memory in 3 layers, but the encoder divides its gradient by 1 (its "
            "attention_layers): write attention_layers: 3 in model.encoder",
        ),
        *(
            (
                replace(SLOTS, encoder=partial(ConvS2SEncoder, dim=4, attention_layers=3), decoder=decoder),
                f"model.decoder: reads the encoder's memory in {layers}, but the encoder divides its gradient by 3",
            )
            for decoder, layers in (
                (partial(TransformerDecoder, layers=2, heads=2, ffn_dim=8), "2 layers"),
                (partial(GNMTDecoder, layers=2), "1 layer"),
                (partial(SutskeverDecoder, bridge=partial(LinearBridge, summary="mean")), "1 layer"),
                (KalchbrennerDecoder, "1 layer"),
            )
        ),
        (
            replace(SLOTS, encoder=partial(ConvolutionalEncoder, dim=8, kernel_sizes=(1, 3, 5))),
            "model.encoder: kernel_sizes: 3 are given; give as many as divide the dim of 8, such as [3] or [1, 3]",
        ),
        (
            replace(SLOTS, encoder=partial(ConvolutionalEncoder, kernel_sizes=())),
            "model.encoder: kernel_sizes: 0 are given; give as many as divide the dim of 256, such as [3] or [1, 3]",
        ),
        *(
            (
                replace(SLOTS, source=NoEmbedding, encoder=encoder),
                "model.encoder: reads a source, but model.source is none: give both the type none, or neither",
            )
            for encoder in (ConvS2SEncoder, ConvolutionalEncoder, KalchbrennerEncoder)
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
def test_incompatible_sizes_are_rejected(slots: ModelConfig, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build_model(slots, VOCABULARY, VOCABULARY, joint=True)
    assert message in str(error.value)
