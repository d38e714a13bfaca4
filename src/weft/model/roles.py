"""The roles of a model's slots: source and target embedding, encoder, decoder, head; and the lattice beside them."""

from typing import NamedTuple, Protocol

from torch import Tensor, nn

from weft.core.frames import Frames
from weft.core.padded import Padded
from weft.core.state import State
from weft.nn.memory import Memory, Sizes


class Embed(Protocol):
    """Tokens to vectors. Made as Embed(vocabulary, ...).

    `limit` is the longest sequence it can place (None: any). `weight` holds the vectors, if they are looked up.
    """

    dim: int
    limit: int | None

    @property
    def weight(self) -> nn.Parameter | None: ...  # [V,D]

    def __call__(self, ids: Tensor, first: Tensor) -> Tensor:
        """ids [N,T], first [N] = the position of the first column -> [N,T,D]."""
        ...


class Encoder(Protocol):
    """A sequence of vectors to a memory. Made as Encoder(input_dim, ...)."""

    sizes: Sizes

    def __call__(self, x: Padded) -> Memory: ...


class Output(NamedTuple):
    """What a decoder gives for each step."""

    hidden: Tensor  # [N,T,D], the head's input
    attention: Tensor | None  # [N,T,S], where each step looked (None: the decoder does not look)


class Decoder(Protocol):
    """One function for a whole sentence in training and a token in search. Made as Decoder(input_dim, sizes, ...)."""

    dim: int

    def start(self, memory: Memory) -> State: ...

    def __call__(self, x: Tensor, state: State) -> tuple[Output, State]:
        """The next T >= 1 inputs x [N,T,E] -> what comes of each, and the state after the last."""
        ...


class Head(Protocol):
    """Always linear, so that chunked losses, shortlists and tied embeddings work. Made as Head(dim, classes, ...)."""

    bias: nn.Parameter | None  # [V]

    @property
    def weight(self) -> nn.Parameter: ...  # [V,D]

    def __call__(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:
        """hidden [...,D] -> logits [...,V], or of the given classes alone."""
        ...

    def rows(self, classes: Tensor) -> Tensor:
        """The vectors of the given classes: [...] -> [...,D]."""
        ...


class Lattice(Protocol):
    """A memory to a whole output, with no loop over it. Made as Lattice(sizes, classes, ...).

    classes: the target vocabulary. `blank`: whether the frames have one class more, the last, for "no token". `limit`:
    the longest memory it can read (None: any).
    """

    blank: bool
    limit: int | None

    def __call__(self, memory: Memory) -> Frames: ...

    def needs(self, target: Padded) -> Tensor:
        """The fewest frames [B] in which each target [B,T], its END the last, can be said at all."""
        ...
