"""Tracing of intermediate tensors: modules record named tensors inside nested scopes, at no cost unless
`trace_tensors()` is active.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from torch import Tensor

_recorded: ContextVar[dict[str, list[Tensor]] | None] = ContextVar("recorded", default=None)
_scopes: ContextVar[tuple[str, ...]] = ContextVar("scopes", default=())


def record_tensor(name: str, tensor: Tensor) -> None:
    """Append the tensor to the trace, under its name prefixed by the scopes."""
    recorded = _recorded.get()
    if recorded is not None:
        recorded.setdefault(".".join((*_scopes.get(), name)), []).append(tensor)


def is_tracing() -> bool:
    """Whether a trace is active; then fused kernels, whose intermediate tensors cannot be recorded, are avoided."""
    return _recorded.get() is not None


def trace_scope(name: str) -> AbstractContextManager[None]:
    """Prefix the names of tensors recorded inside."""
    return _nested_scope(name) if is_tracing() else nullcontext()


@contextmanager
def _nested_scope(name: str) -> Iterator[None]:
    token = _scopes.set((*_scopes.get(), name))
    try:
        yield
    finally:
        _scopes.reset(token)


@contextmanager
def trace_tensors() -> Iterator[dict[str, list[Tensor]]]:
    """Collect all tensors that are recorded inside the block."""
    recorded: dict[str, list[Tensor]] = {}
    token = _recorded.set(recorded)
    try:
        yield recorded
    finally:
        _recorded.reset(token)
