"""Settings for a toolkit to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_settings(path: Path, settings: Mapping[str, Any]) -> str:
    """Write them as JSON, which every reader of YAML reads; returns the path as an argument."""
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return str(path)
