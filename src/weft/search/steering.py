"""What a search says that keeps no places for what must be said."""

from weft.core.errors import UserError
from weft.core.state import Steer


def refuse(steer: Steer | None) -> None:
    """Lexical constraints can be promised only where places are divided among banks."""
    if steer is not None:
        raise UserError(
            "lexical constraints need beam search, which keeps places for hypotheses that say what is asked for, as "
            "greedy search, sampling and diverse beam search do not (exhaustive search drops nothing): write --beam 5, "
            "or translate.search={type: beam}"
        )
