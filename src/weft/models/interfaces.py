"""The interfaces of the parts of a model (embedder, encoder, decoder, head, frame head), the empty parts of models
without an encoder or a decoder, and checks that neighboring parts fit each other, which raise ValueError.
"""

from typing import NamedTuple, Protocol

from torch import Tensor, nn

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import FrameOutput, State
from weft.nn.encoder_memory import Memory, MemorySizes


class Embedder(Protocol):
    """Tokens to vectors. Called as Embedder(vocabulary, ...).

    max_length: the longest sequence that it can embed (None: any). weight: the lookup table, if there is one.
    """

    dim: int
    max_length: int | None

    @property
    def weight(self) -> nn.Parameter | None: ...  # [V,D]

    def __call__(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        ...


class Encoder(Protocol):
    """A sequence of vectors to a memory. Called as Encoder(input_dim, ...)."""

    sizes: MemorySizes

    def __call__(self, x: Padded) -> Memory: ...


class DecoderOutput(NamedTuple):
    hidden: Tensor  # [N,T,D], the head's input
    attention: Tensor | None  # [N,T,S], over the source positions (None: the decoder has no attention)


class Decoder(Protocol):
    """One function for whole sentences in training and single tokens in search.

    Called as Decoder(input_dim, memory sizes, ...).
    """

    dim: int

    def start(self, memory: Memory) -> State: ...

    def __call__(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:
        """The next T >= 1 inputs x [N,T,E] -> their outputs, and the state after the last."""
        ...


class Head(Protocol):
    """Always linear, so that chunked losses, shortlists and tied embeddings work. Called as Head(dim, classes, ...)."""

    bias: nn.Parameter | None  # [V]

    @property
    def weight(self) -> nn.Parameter: ...  # [V,D]

    def __call__(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:
        """hidden [...,D] -> logits [...,V], or those of the given classes only."""
        ...

    def rows(self, classes: Tensor) -> Tensor:
        """The weight vectors of classes: [...] -> [...,D]."""
        ...


class FrameHead(Protocol):
    """A memory to the distributions of a whole output, without a loop. Called as FrameHead(sizes, classes, ...).

    classes: size of the target vocabulary. blank: whether the frames have one more class, the last, for "no token".
    max_length: the longest memory that it can read (None: any).
    """

    blank: bool
    max_length: int | None

    def __call__(self, memory: Memory) -> FrameOutput: ...

    def required_frames(self, target: Padded) -> Tensor:
        """Return the smallest number of frames [B] that can express each target [B,T], which ends in EOS."""
        ...


class NoEncoder(nn.Module):
    """A memory without positions: the decoder is a language model, p(y) = prod_i p(y_i | y_1 ... y_{i-1})."""

    def __init__(self, input_dim: int):
        super().__init__()
        if input_dim:
            raise ValueError("reads no source, so there must be no embedding of one: write model.source: none too")
        self.sizes = MemorySizes(0, 0)

    def forward(self, x: Padded) -> Memory:
        empty = x.data[:, :0]  # [B,0,0]
        return Memory(empty, empty, x.mask[:, :0])


class NoDecoder(nn.Module):
    """The decoder of a model whose frame head predicts the whole output at once."""

    dim = 0

    def __init__(self, input_dim: int, sizes: MemorySizes):  # noqa: ARG002 (interface)
        super().__init__()
        if input_dim:
            raise ValueError("reads no tokens, so there must be no embedding of them: write model.target: none too")

    def start(self, memory: Memory) -> State:  # noqa: ARG002 (interface)
        raise no_decoder_error()

    def forward(self, x: Tensor, state: State) -> tuple[DecoderOutput, State]:  # noqa: ARG002 (interface)
        raise no_decoder_error()


class NoHead(nn.Module):
    """The head of a model without a decoder."""

    bias: nn.Parameter | None = None

    @property
    def weight(self) -> nn.Parameter:
        raise no_decoder_error()

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:  # noqa: ARG002 (interface)
        raise no_decoder_error()

    def rows(self, classes: Tensor) -> Tensor:  # noqa: ARG002 (interface)
        raise no_decoder_error()


def no_decoder_error() -> UserError:
    return UserError(
        "this model has no decoder (model.decoder: none), so there are no steps to take: its frame head predicts the "
        "whole output at once"
    )


def require_source_embedding(input_dim: int) -> None:
    """Check an encoder that reads a source."""
    if not input_dim:
        raise ValueError("reads a source, but model.source is none: give both the type none, or neither")


def require_source(memory: MemorySizes) -> None:
    """Check a frame head, whose frames come from the source positions."""
    if not memory.keys:
        raise ValueError("needs a source, but model.encoder is none: only a decoder can do without one")


def require_memory(memory: MemorySizes, layers: int = 1) -> None:
    """Check a decoder that reads the memory in `layers` layers."""
    if not memory.keys:
        raise ValueError(
            "needs a source, but model.encoder is none. A language model's decoder is a transformer, or sutskever with "
            "bridge: zeros"
        )
    require_attention_layers(memory, layers)


def require_attention_layers(memory: MemorySizes, layers: int) -> None:
    """Check that the encoder divides the memory's gradient, if at all, by the number of layers that read it."""
    if memory.attention_layers not in (None, layers):
        count = "1 layer" if layers == 1 else f"{layers} layers"
        raise ValueError(
            f"reads the encoder's memory in {count}, but the encoder divides its gradient by "
            f"{memory.attention_layers} (its attention_layers): write attention_layers: {layers} in model.encoder"
        )


def require_target_embedding(input_dim: int) -> None:
    """Check a decoder, which reads the tokens that it has written."""
    if not input_dim:
        raise ValueError(
            "reads the tokens it has written, but model.target is none: give the target an embedding, or write "
            "model.decoder: none too, and a model.frame_head"
        )
