"""Memory that is freed stays for the next tensor."""

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
given_back = faults()
keep_freed_memory()
faults()
print(given_back, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc alone")
@pytest.mark.slow
def test_freed_memory_is_used_again_without_page_faults() -> None:
    fixed = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}  # else glibc may raise it by itself, sooner or later
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=fixed)
    given_back, kept = map(int, run.stdout.split())
    assert kept < given_back / 10


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(ctypes, "CDLL", None)  # would fail if it were called
    keep_freed_memory()
