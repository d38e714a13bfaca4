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


def require_memory(memory: Sizes) -> None:
    """For a decoder that looks back at the source, or is given a summary of it."""
    if not memory.keys:
        raise ValueError(
            "needs a source, but model.encoder is none. A language model's decoder is a transformer, or sutskever with "
            "bridge: zeros"
        )
