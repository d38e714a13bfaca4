"""Is there a source? A language model has none, and parts that cannot do without one say so."""

from weft.nn.memory import Sizes


def require_vectors(input_dim: int) -> None:
    """For an encoder that reads."""
    if not input_dim:
        raise ValueError("reads a source, but model.source is none: give both the type none, or neither")


def require_positions(memory: Sizes) -> None:
    """For a lattice, whose frames come from the positions of a source."""
    if not memory.keys:
        raise ValueError("needs a source, but model.encoder is none: only a decoder can do without one")


def require_memory(memory: Sizes, layers: int = 1) -> None:
    """For a decoder that looks back at the source in so many layers, or is given a summary of it."""
    if not memory.keys:
        raise ValueError(
            "needs a source, but model.encoder is none. A language model's decoder is a transformer, or sutskever with "
            "bridge: zeros"
        )
    require_divisor(memory, layers)


def require_divisor(memory: Sizes, layers: int) -> None:
    """For a decoder that reads the memory in so many layers: if its gradient is divided, then by their number."""
    if memory.attentions not in (None, layers):
        counted = "1 layer" if layers == 1 else f"{layers} layers"
        raise ValueError(
            f"reads the encoder's memory in {counted}, but the encoder divides its gradient by {memory.attentions} "
            f"(its attentions): write attentions: {layers} in model.encoder"
        )
