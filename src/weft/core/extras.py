"""Optional packages: which extra of Weft installs them, and the message where one is missing.

The base install trains, translates and evaluates. Everything else is an extra: `pip install 'weft[serve,plots]'`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from weft.core.errors import UserError

Extra = Literal["fast", "serve", "plots", "images", "tensorboard", "onnx", "parquet"]

# The modules that each extra of pyproject.toml brings; a test compares the two.
EXTRA_MODULES: dict[Extra, tuple[str, ...]] = {
    "fast": ("ctranslate2",),
    "serve": ("fastapi", "fastapi_swagger", "uvicorn", "python_multipart", "prometheus_client"),
    "plots": ("matplotlib", "plotext"),
    "images": ("PIL",),
    "tensorboard": ("tensorboard",),
    "onnx": ("onnx", "onnxruntime"),
    "parquet": ("pyarrow",),
}


def missing_module_error(error: ModuleNotFoundError) -> UserError | None:
    """Return the message for an import that failed because an extra is not installed; None for other modules."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRA_MODULES.items() if module in modules), None)
    return UserError(f"{module} is not installed. Install it with: pip install 'weft[{extra}]'") if extra else None


def require_extra(extra: Extra, feature: str) -> None:
    """Raise UserError if a package of an extra is missing; `feature` names what needs it, as in "weft serve"."""
    missing = [module for module in EXTRA_MODULES[extra] if find_spec(module) is None]
    if missing:
        raise UserError(
            f"{feature} needs packages that are not installed ({', '.join(missing)}). "
            f"Install them with: pip install 'weft[{extra}]'"
        )
