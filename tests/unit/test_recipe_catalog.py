"""Packaged recipes are found by name; the user's files take precedence."""

from pathlib import Path

import pytest

from weft.config.recipe_catalog import RECIPES_FOLDER, find_recipe, is_recipe_argument, list_recipes
from weft.core.errors import UserError


def test_every_recipe_is_listed_with_a_summary() -> None:
    recipes = list_recipes()
    assert [*recipes] == sorted(path.stem for path in RECIPES_FOLDER.glob("*.yaml"))
    assert all(len(summary) > 20 and "weft train" not in summary for summary in recipes.values())


def test_recipe_name_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_recipe_argument(["multi30k-en-de"])
    assert find_recipe("multi30k-en-de") == RECIPES_FOLDER / "multi30k-en-de.yaml"


def test_file_of_the_user_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("multi30k-en-de").write_text("text", "utf-8")
    assert find_recipe("multi30k-en-de") == Path("multi30k-en-de")


def test_closest_name_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for find in (find_recipe, lambda name: is_recipe_argument([name])):
        with pytest.raises(UserError, match=r'multi30k-en-d\b.*; did you mean "multi30k-en-de"\?'):
            find("multi30k-en-d")
