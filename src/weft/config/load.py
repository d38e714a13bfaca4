"""A recipe file, with the settings that a command changes, read and checked."""

from collections.abc import Sequence
from pathlib import Path

from weft.config.document import Plain, read_document
from weft.config.overrides import advised, apply_overrides
from weft.config.reader import read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError


def load_recipe(source: Path | dict[str, Plain], overrides: Sequence[str] = ()) -> Recipe:
    """A YAML file, or the same as plain data, with overrides such as `model.encoder.layers=6`."""
    node = read_document(source) if isinstance(source, Path) else source
    try:
        return read(apply_overrides(node, overrides), Recipe, REGISTRY)
    except ConfigError as error:
        raise advised(error, overrides) from error
