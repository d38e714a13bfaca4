"""Is there an embedding of the target? A model that says its whole output at once has none, and decoders say so."""


def require_tokens(input_dim: int) -> None:
    """For a decoder, which is fed what it has written."""
    if not input_dim:
        raise ValueError(
            "is fed what it has written, but model.target is none: give the target an embedding, or write "
            "model.decoder: none too, and a model.lattice"
        )
