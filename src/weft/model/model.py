"""The model: five slots and the two ways through them."""

from typing import cast

import torch
from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.state import Scores, State
from weft.core.tree import Tree
from weft.data.batches import Batch
from weft.model.roles import Decoder, Embed, Encoder, Head, Output
from weft.nn.memory import Memory


class Model(nn.Module):
    """source -> encoder -> memory; target and memory -> decoder -> head. Without a memory it is a language model.

    Training goes through `features`, search through `start` and `step`; both call the same decoder.
    """

    def __init__(self, source: Embed, encoder: Encoder, target: Embed, decoder: Decoder, head: Head):
        super().__init__()
        self.source = source
        self.encoder = encoder
        self.target = target
        self.decoder = decoder
        self.head = head

    @property
    def is_language_model(self) -> bool:
        """Is there no source? Then what it says depends on the target alone."""
        return self.encoder.sizes.keys == 0

    def encode(self, source: Padded) -> Memory:
        first = source.data.new_zeros(len(source.data))
        return self.encoder(source.with_data(self.source(source.data, first)))

    def features(self, batch: Batch, fed: Tensor | None = None) -> Output:
        """The decoder's output for every target position, each fed the true tokens before it (or those of `fed` [B,T]).

        No mask is needed: padding comes last, decoders do not look ahead, and losses read real positions only.
        """
        state = self.decoder.start(self.encode(batch.source))
        inputs = batch.decoder_input().data if fed is None else fed
        output, _ = self.decoder(self.target(inputs, inputs.new_zeros(len(inputs))), state)
        return output

    def start(self, memory: Memory) -> State:
        """Before the first token. The carry is the number of steps taken [N] and the decoder's own."""
        state = self.decoder.start(memory)
        steps = torch.zeros(len(memory.mask), dtype=torch.long, device=memory.mask.device)
        return State(state.memory, (steps, state.carry))

    def step(self, tokens: Tensor, state: State) -> tuple[Scores, State]:
        """Feed the last token of each hypothesis [N]; what may come next?"""
        steps, carry = cast(tuple[Tensor, Tree], state.carry)
        output, after = self.decoder(self.target(tokens[:, None], steps), State(state.memory, carry))
        log_probs = self.head(output.hidden[:, 0]).log_softmax(-1)
        attention = None if output.attention is None else output.attention[:, 0]
        return Scores(log_probs, attention), State(after.memory, (steps + 1, after.carry))
