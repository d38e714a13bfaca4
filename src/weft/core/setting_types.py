"""Types of settings: numbers with bounds, and factories of components.

A constructor's signature is the schema of its configuration. Positional parameters are sizes that neighboring
components determine; keyword-only parameters are the settings, typed and with a default, for example
`def __init__(self, input_dim: int, *, cell: Factory[RecurrentCell] = GRUCell, layers: PositiveInt = 1)`.
"""

from collections.abc import Callable
from typing import Annotated, TypeVar

from annotated_types import Ge, Gt, Le, Lt

Component = TypeVar("Component")
Factory = Callable[..., Component]  # a class, or a partial of one; called with the sizes of its neighbors

PositiveInt = Annotated[int, Ge(1)]
NonNegativeInt = Annotated[int, Ge(0)]
Rate = Annotated[float, Ge(0.0), Lt(1.0)]
UnitInterval = Annotated[float, Ge(0.0), Le(1.0)]
PositiveFloat = Annotated[float, Gt(0.0)]
NonNegativeFloat = Annotated[float, Ge(0.0)]
