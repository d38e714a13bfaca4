"""Optional packages: which extra of Weft installs them, and the message where one is missing.

The base install trains, translates and evaluates. Everything else is an extra: `pip install 'weft[serve,plots]'`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from weft.core.errors import UserError

Extra = Literal["fast", "serve", "plots", "images", "tensorboard", "onnx"]

# The modules that each extra of pyproject.toml brings; a test compares the two.
EXTRA_MODULES: dict[Extra, tuple[str, ...]] = {
    "fast": ("ctranslate2",),
    "serve": ("fastapi", "uvicorn", "multipart", "prometheus_client"),
    "plots": ("matplotlib", "jinja2", "plotext"),
    "images": ("PIL",),
    "tensorboard": ("tensorboard",),
    "onnx": ("onnx", "onnxruntime"),
}


def has_extra(extra: Extra) -> bool:
    """Return whether all packages of an extra are installed."""
    return all(find_spec(module) is not None for module in EXTRA_MODULES[extra])


def require_extra(extra: Extra, feature: str) -> None:
    """Raise UserError if a package of an extra is missing; `feature` names what needs it, as in "weft serve"."""
    missing = [module for module in EXTRA_MODULES[extra] if find_spec(module) is None]
    if missing:
        raise UserError(
            f"{feature} needs packages that are not installed ({', '.join(missing)}). "
            f"Install them with: pip install 'weft[{extra}]'"
        )
