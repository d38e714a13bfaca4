"""Arrays in files: written a part at a time, read through a memory map, so that neither takes memory."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def append(path: Path, values: NDArray[Any]) -> None:
    """Write the values behind those that are in the file already."""
    with path.open("ab") as file:
        file.write(values.tobytes())


def mapped(path: Path, kind: DTypeLike, count: int) -> NDArray[Any]:
    """The values in a file that should hold `count` of them."""
    wanted = count * np.dtype(kind).itemsize
    if path.stat().st_size != wanted:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes instead of {wanted}")
    if count == 0:
        return np.zeros(0, kind)  # an empty file cannot be mapped
    return np.asarray(np.memmap(path, kind, "r"))  # slices of a plain array are made faster than those of a memmap
