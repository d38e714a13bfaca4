"""How much memory there is, and what becomes of it when it is free again."""

import ctypes
import os
import platform

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h numbers them
LARGEST_OF_HEAP = 32 * 2**20  # bytes; glibc takes no more
NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Let glibc keep what is freed for the next tensor, up to 32 MiB large, instead of giving it back to the system.

    A step frees and asks for the same sizes again and again, and each page that comes anew from the system is a fault,
    filled with zeros first. Other C libraries are left as they are.
    """
    if platform.libc_ver()[0] == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, LARGEST_OF_HEAP)
        mallopt(TRIM_THRESHOLD, NEVER)


def installed_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
