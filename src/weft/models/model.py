"""The model: its slots, the paths through them for training and search, and its trainable and frozen parameters."""

from collections.abc import Sequence
from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import FrameOutput, State, StepOutput, TensorTree
from weft.core.tracing import trace_scope
from weft.data.batches import Batch
from weft.models.interfaces import Decoder, DecoderOutput, Embedder, Encoder, FrameHead, Head
from weft.nn.encoder_memory import Memory

Slot = Literal["source", "encoder", "target", "decoder", "head", "frame_head"]
SLOTS: tuple[Slot, ...] = get_args(Slot)


class Model(nn.Module):
    """source -> encoder -> memory; target and memory -> decoder -> head. Without a memory it is a language model.

    Training uses `features`, search uses `start` and `step`; both call the same decoder. In addition to the decoder,
    or instead of it, there may be a frame head, which predicts a whole output from the memory without steps.
    """

    def __init__(
        self,
        source: Embedder,
        encoder: Encoder,
        target: Embedder,
        decoder: Decoder,
        head: Head,
        frame_head: FrameHead | None = None,
    ):
        super().__init__()
        self.source = source
        self.encoder = encoder
        self.target = target
        self.decoder = decoder
        self.head = head
        self.frame_head = frame_head

    @property
    def is_language_model(self) -> bool:
        """Whether there is no source."""
        return self.encoder.sizes.keys == 0

    @property
    def has_decoder(self) -> bool:
        """Whether outputs are produced step by step; otherwise there is only a frame head."""
        return self.decoder.dim > 0

    def encode(self, source: Padded) -> Memory:
        first = source.data.new_zeros(len(source.data))
        with trace_scope("source"):
            embedded = self.source(source.data, first)
        return self.encoder(source.with_data(embedded))

    def features(self, batch: Batch, tokens: Tensor | None = None) -> DecoderOutput:
        """Return the decoder's output for every target position, given the true tokens before it, or `tokens` [B,T].

        No mask is needed: padding comes last, decoders are causal, and losses read real positions only.
        """
        return self.decode(self.encode(batch.source), batch.decoder_input().data if tokens is None else tokens)

    def decode(self, memory: Memory, tokens: Tensor) -> DecoderOutput:
        """Return the decoder's output after each of the input tokens [B,T]."""
        with trace_scope("target"):
            embedded = self.target(tokens, tokens.new_zeros(len(tokens)))
        output, _ = self.decoder(embedded, self.decoder.start(memory))
        return output

    def frames(self, source: Padded) -> FrameOutput:
        return self.frames_from_memory(self.encode(source))

    def frames_from_memory(self, memory: Memory) -> FrameOutput:
        """Return the frame head's prediction of the whole output."""
        if self.frame_head is None:
            raise UserError(
                "this model has no frame head (model.frame_head), so it cannot predict an output at once, in frames"
            )
        return self.frame_head(memory)

    def start(self, memory: Memory) -> State:
        """Return the state before the first token. Its carry is the number of steps taken [N] and the decoder's."""
        state = self.decoder.start(memory)
        steps = torch.zeros(len(memory.mask), dtype=torch.long, device=memory.mask.device)
        return State(state.memory, (steps, state.carry))

    def step(self, tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        """Return the distribution of the next token, given the last token of each hypothesis [N]."""
        hidden, attention, after = self.advance(tokens, state)
        return StepOutput(self.head(hidden).log_softmax(-1), attention), after

    def advance(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor | None, State]:
        """Do a step up to the head: return its input [N,D], the attention [N,S] and the next state."""
        steps, carry = cast(tuple[Tensor, TensorTree], state.carry)
        output, after = self.decoder(self.target(tokens[:, None], steps), State(state.memory, carry))
        attention = None if output.attention is None else output.attention[:, 0]
        return output.hidden[:, 0], attention, State(after.memory, (steps + 1, after.carry))


def freeze_slots(model: Model, slots: Sequence[Slot]) -> None:
    """Freeze the weights of these slots; a weight that another slot shares is frozen there too."""
    for slot in slots:
        for parameter in slot_parameters(model, slot):
            parameter.requires_grad_(False)


def slot_parameters(model: Model, slot: Slot) -> list[nn.Parameter]:
    named = model.named_parameters(remove_duplicate=False)
    return [parameter for name, parameter in named if name.partition(".")[0] == slot]


def trainable_parameters(model: Model) -> dict[str, nn.Parameter]:
    """Return the weights that are not frozen, by name, in the order in which an optimizer numbers them."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def count_parameters(model: nn.Module) -> int:
    """Return the number of learned numbers; a shared weight counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
