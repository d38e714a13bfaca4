"""The recipes that are part of the package, found by name. Does not import torch or yaml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean
from weft.data.pair_files import TABLE_SUFFIXES, is_table_file
from weft.data.text_files import COMPRESSED_SUFFIXES

RECIPES_FOLDER = Path(__file__).parent / "recipes"
YAML_SUFFIXES = (".yaml", ".yml")


def list_recipes() -> dict[str, str]:
    """Return the summary of each recipe of the package, which is its first comment line, in the order of the names."""
    paths = sorted(RECIPES_FOLDER.glob("*.yaml"), key=lambda path: path.stem)
    return {path.stem: path.read_text("utf-8").partition("\n")[0].lstrip("# ") for path in paths}


def find_recipe(name: str | Path) -> Path:
    """Return the file of a recipe: a path to a YAML file, or the name of a recipe of the package."""
    path = Path(name)
    if path.suffix in YAML_SUFFIXES or path.is_file():
        return path
    if not _is_catalog_name(str(name)):
        raise UserError(f"{name}: no such recipe file or name{_hint(str(name))} (`weft recipes` lists the names)")
    return RECIPES_FOLDER / f"{name}.yaml"


def is_recipe_argument(names: Sequence[str]) -> bool:
    """Return whether command arguments name a recipe (True) or data files (False); raise UserError if neither."""
    if len(names) == 1 and _is_catalog_name(names[0]):
        return True
    recipes = [name for name in names if name.endswith(YAML_SUFFIXES)]
    if recipes and len(names) > 1:
        others = ", ".join(name for name in names if name != recipes[0]) or recipes[0]
        raise UserError(
            f"{recipes[0]} is a recipe, which names its own data: leave out {others}. "
            "A setting looks like train.seed=2."
        )
    if not recipes and len(names) != 2 and not (len(names) == 1 and is_table_file(names[0])):
        many = "; for many files use one pattern in quotes, as in 'shards/*.en'"
        hint = many if len(names) > 2 else _hint(" ".join(names))
        raise UserError(
            f"{', '.join(names)}: neither data nor a recipe{hint} (data is two text files, or one of "
            f"{', '.join(TABLE_SUFFIXES)}, each may end in {COMPRESSED_SUFFIXES}; a recipe is a .yaml file or a name "
            "from `weft recipes`; a setting looks like train.seed=2)"
        )
    return bool(recipes)


def _is_catalog_name(name: str) -> bool:
    return "/" not in name and not Path(name).exists() and (RECIPES_FOLDER / f"{name}.yaml").is_file()


def _hint(name: str) -> str:
    return did_you_mean(name, (path.stem for path in RECIPES_FOLDER.glob("*.yaml")))
