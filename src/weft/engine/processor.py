"""What the processor can do, as far as an engine has to know it before torch is there."""

from __future__ import annotations

import platform
from pathlib import Path

from weft.export.whole_numbers import Bits

FEATURES = frozenset(("avx512_vnni", "avx_vnni"))  # products of bytes that are added in 32 bits
ARM = ("aarch64", "arm64")  # whose products of bytes are added in 32 bits by every library
CPU = Path("/proc/cpuinfo")


def bits_of_weights() -> Bits:
    """Of int8: eight where no sum of products can overflow; where that is not known, seven."""
    return 8 if platform.machine().lower() in ARM or FEATURES & features() else 7


def features() -> frozenset[str]:
    """Of the first core; none where the system does not tell them in a file."""
    try:
        lines = CPU.read_text("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags.partition(":")[2].split())
