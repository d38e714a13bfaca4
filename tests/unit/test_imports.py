"""Modules do not import packages that they do not need."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "unneeded"),
    [
        ("weft.inference.loader", ("weft.losses", "weft.optim", "weft.training", "weft.visualize")),
        ("weft.inference.ctranslate2_backend", ("torch", "weft.losses", "weft.optim", "weft.models", "weft.training")),
        ("weft.config.yaml_files", ("torch", "weft.models")),
        ("weft.serve.app", ("py3langid",)),
        ("weft.training.autoconfig", ("py3langid",)),
        ("weft.cli.main", ("torch", "numpy", "yaml", "weft.models", "weft.inference")),
    ],
)
def test_module_does_not_import_unneeded_packages(module: str, unneeded: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = result.stdout.split()
    assert [
        name for name in imported if name.startswith(tuple(f"{part}." for part in unneeded)) or name in unneeded
    ] == []
