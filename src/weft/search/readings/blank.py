"""Frames with a blank, or without one."""

from weft.core.errors import UserError
from weft.search.role import Given


def require_blank(given: Given) -> None:
    """For a reading of paths."""
    if not given.blank:
        raise UserError(
            "reads paths, in which a blank stands between tokens, but the frames of this model.lattice are the tokens "
            "themselves: take the reading positions"
        )
