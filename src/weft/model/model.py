"""The model: its slots and the ways through them."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.core.padded import Padded
from weft.core.state import Scores, State
from weft.core.tree import Tree
from weft.core.watch import place
from weft.data.batches import Batch
from weft.model.roles import Decoder, Embed, Encoder, Head, Lattice, Output
from weft.nn.memory import Memory


class Model(nn.Module):
    """source -> encoder -> memory; target and memory -> decoder -> head. Without a memory it is a language model.

    Training goes through `features`, search through `start` and `step`; both call the same decoder. Beside the decoder,
    or instead of it, there may be a lattice: memory -> lattice -> frames, which say a whole output with no steps.
    """

    def __init__(
        self,
        source: Embed,
        encoder: Encoder,
        target: Embed,
        decoder: Decoder,
        head: Head,
        lattice: Lattice | None = None,
    ):
        super().__init__()
        self.source = source
        self.encoder = encoder
        self.target = target
        self.decoder = decoder
        self.head = head
        self.lattice = lattice

    @property
    def is_language_model(self) -> bool:
        """Is there no source? Then what it says depends on the target alone."""
        return self.encoder.sizes.keys == 0

    @property
    def has_decoder(self) -> bool:
        """Are there steps? Without them, all that is said of an output is in the frames of the lattice."""
        return self.decoder.dim > 0

    def encode(self, source: Padded) -> Memory:
        first = source.data.new_zeros(len(source.data))
        with place("source"):
            embedded = self.source(source.data, first)
        return self.encoder(source.with_data(embedded))

    def features(self, batch: Batch, fed: Tensor | None = None) -> Output:
        """The decoder's output for every target position, each fed the true tokens before it (or those of `fed` [B,T]).

        No mask is needed: padding comes last, decoders do not look ahead, and losses read real positions only.
        """
        return self.decode(self.encode(batch.source), batch.decoder_input().data if fed is None else fed)

    def decode(self, memory: Memory, fed: Tensor) -> Output:
        """The decoder's output for every token that it is fed [B,T]."""
        with place("target"):
            embedded = self.target(fed, fed.new_zeros(len(fed)))
        output, _ = self.decoder(embedded, self.decoder.start(memory))
        return output

    def frames(self, source: Padded) -> Frames:
        """What the lattice says of the whole output."""
        return self.frames_of(self.encode(source))

    def frames_of(self, memory: Memory) -> Frames:
        """The same of a source that is encoded already."""
        if self.lattice is None:
            raise UserError("this model has no lattice (model.lattice), so it cannot say an output at once, in frames")
        return self.lattice(memory)

    def start(self, memory: Memory) -> State:
        """Before the first token. The carry is the number of steps taken [N] and the decoder's own."""
        state = self.decoder.start(memory)
        steps = torch.zeros(len(memory.mask), dtype=torch.long, device=memory.mask.device)
        return State(state.memory, (steps, state.carry))

    def step(self, tokens: Tensor, state: State) -> tuple[Scores, State]:
        """Feed the last token of each hypothesis [N]; what may come next?"""
        hidden, attention, after = self.advance(tokens, state)
        return Scores(self.head(hidden).log_softmax(-1), attention), after

    def advance(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor | None, State]:
        """The same up to the head: its input [N,D], where the step looked [N,S], the state after it."""
        steps, carry = cast(tuple[Tensor, Tree], state.carry)
        output, after = self.decoder(self.target(tokens[:, None], steps), State(state.memory, carry))
        attention = None if output.attention is None else output.attention[:, 0]
        return output.hidden[:, 0], attention, State(after.memory, (steps + 1, after.carry))
