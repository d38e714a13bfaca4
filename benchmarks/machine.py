"""Description of the machine that a benchmark runs on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch


def machine() -> dict[str, Any]:
    return {
        "cpu": first_value(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def first_value(path: Path, name: str) -> str | None:
    """Return the first value of `name` in a file of `name: value` lines; None if there is no such file or name."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
