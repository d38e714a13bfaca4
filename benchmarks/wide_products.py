"""Products of bfloat16 numbers on a processor that has no instructions for them, where they take a dozen times as long.

Such instructions add up in float32 and round what comes out. So does this, and it takes as long as float32 does: losses
are those of a processor that has the instructions, speeds are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = {torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm, torch.ops.aten.baddbmm}


class WideProducts(TorchDispatchMode):
    """Within it, products of bfloat16 numbers are computed in float32 and rounded; of gradients, too."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, operation: Any, types: Sequence[type], given: Sequence[Any] = (), named: Mapping[str, Any] | None = None
    ) -> Any:
        product, told = operation.overloadpacket, dict(named or {})
        if product not in PRODUCTS or given[-1].dtype != torch.bfloat16:
            return operation(*given, **told)
        out = told.pop("out", None)
        wide: torch.Tensor = product(*(one.float() for one in given), **told)
        return wide.bfloat16() if out is None else out.copy_(wide)
