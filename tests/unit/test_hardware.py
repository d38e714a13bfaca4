"""Freed memory is reused for the next tensor."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from weft.core.hardware import keep_freed_memory

PROGRAM = """
import resource, torch
from weft.core.hardware import keep_freed_memory

torch.set_num_threads(1)

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        [torch.ones(4_000_000) for _ in range(3)]  # 16 MB each
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
default = faults()
keep_freed_memory()
faults()
print(default, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
@pytest.mark.slow
def test_freed_memory_is_reused_without_page_faults() -> None:
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}  # otherwise glibc may raise it dynamically
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    default, reused = map(int, run.stdout.split())
    assert reused < default / 10


def test_other_c_libraries_are_not_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(ctypes, "CDLL", None)  # would fail if it were called
    keep_freed_memory()
