"""The types that constructors use: a constructor's signature is the schema of its configuration.

Before the star stand the sizes that a neighbour gives, after it what a user may write, typed and with a default:

    def __init__(self, input_dim: int, *, cell: Make[Cell] = GRU, layers: Count = 1, dropout: Rate = 0.0)
"""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from annotated_types import Ge, Gt, Le, Lt

Part = TypeVar("Part")
Make = Callable[..., Part]  # a recipe for a part: called with the sizes of its neighbours
Vocabulary = Sequence[str]  # how each token is shown, in the order of the ids: the marks, then the pieces

Count = Annotated[int, Ge(1)]
Whole = Annotated[int, Ge(0)]
Rate = Annotated[float, Ge(0.0), Lt(1.0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]
Positive = Annotated[float, Gt(0.0)]
