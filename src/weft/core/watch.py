"""The one channel for seeing inside: modules note named tensors, and nobody listens unless asked.

with watching() as seen:
    model.features(batch)
seen["decoder.0.across"]  # a list: a tensor for each time it was noted
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from torch import Tensor

_seen: ContextVar[dict[str, list[Tensor]] | None] = ContextVar("seen", default=None)
_places: ContextVar[tuple[str, ...]] = ContextVar("places", default=())


def note(name: str, tensor: Tensor) -> None:
    """Hand `tensor` to whoever watches; free when nobody does."""
    seen = _seen.get()
    if seen is not None:
        seen.setdefault(".".join((*_places.get(), name)), []).append(tensor)


def watched() -> bool:
    """Does anybody watch? Then a kernel that shows nothing of its inside is no good."""
    return _seen.get() is not None


def place(name: str) -> AbstractContextManager[None]:
    """What is noted inside has this name before its own; free when nobody watches."""
    return _inside(name) if watched() else nullcontext()


@contextmanager
def _inside(name: str) -> Iterator[None]:
    token = _places.set((*_places.get(), name))
    try:
        yield
    finally:
        _places.reset(token)


@contextmanager
def watching() -> Iterator[dict[str, list[Tensor]]]:
    """Collect everything noted inside the block."""
    seen: dict[str, list[Tensor]] = {}
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)
