"""Devices and system memory. Importing this module does not import torch."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import TYPE_CHECKING

from weft.core.errors import UserError

if TYPE_CHECKING:
    import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameter numbers of glibc's mallopt
MAX_MMAP_THRESHOLD = 32 * 2**20  # bytes; glibc accepts no more
NO_TRIM_THRESHOLD = 2**31 - 1


def select_device(name: str, option: str = "--device ") -> torch.device:
    """Return the named device if it works; `auto` is the first GPU if there is one, else the CPU.

    option: what precedes the name in a message.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # tensors on "meta" have no values
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        devices = "auto, cpu, cuda, cuda:1, mps"
        raise UserError(f"{option}{name} cannot be used here ({reason}). Devices are: {devices}.") from error
    return device


def select_rank_device(name: str, local_rank: int) -> torch.device:
    """Return the device of one of several processes on this machine: a GPU for each, or the CPU for all."""
    import torch

    device = select_device(name)
    if device.type == "cpu":
        return device
    if device.type != "cuda" or device.index is not None:
        raise UserError(f"--device {name} is one place for all processes: leave it out, or write cuda or cpu")
    count = torch.cuda.device_count()
    if local_rank >= count:
        raise UserError(f"there are more processes here than GPUs: write --nproc-per-node {count}, or --device cpu")
    return torch.device("cuda", local_rank)


def keep_freed_memory() -> None:
    """Let glibc keep freed blocks of up to 32 MiB for the next tensor instead of returning them to the system.

    A training step frees and allocates the same sizes again and again; each page fetched anew from the system costs a
    fault and is filled with zeros first. Other C libraries are left as they are.
    """
    if platform.libc_ver()[0] == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MAX_MMAP_THRESHOLD)
        mallopt(M_TRIM_THRESHOLD, NO_TRIM_THRESHOLD)


def total_memory() -> int | None:
    """Return the installed memory in bytes, or None if the system does not report it."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
