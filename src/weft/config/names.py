"""Recipe or data: what the names that a command was given stand for. Nothing here needs torch."""

from collections.abc import Sequence

from weft.core.errors import UserError
from weft.data.shards import is_table
from weft.data.unpacking import ENDINGS

YAML = (".yaml", ".yml")


def names_recipe(names: Sequence[str]) -> bool:
    """A recipe, or data files? What is neither is told here, where both are known."""
    recipes = [name for name in names if name.endswith(YAML)]
    if recipes and len(names) > 1:
        others = ", ".join(name for name in names if name != recipes[0]) or recipes[0]
        raise UserError(
            f"{recipes[0]} is a recipe, and names its data itself: leave out {others}. "
            "A setting would look like train.seed=2."
        )
    if not recipes and len(names) != 2 and not (len(names) == 1 and is_table(names[0])):
        many = " Many files of a kind are named by one pattern, in quotes: 'shards/*.en'." if len(names) > 2 else ""
        raise UserError(
            f"got {', '.join(names)}, but wanted data, which is two text files, one .tsv or one .jsonl (each may end "
            f"in {ENDINGS}), or a recipe, which ends in .yaml. A setting would look like train.seed=2.{many}"
        )
    return bool(recipes)
