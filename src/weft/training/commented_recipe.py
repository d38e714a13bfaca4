"""A recipe that Weft chooses: settings with their reasons, as plain data, as a YAML file to edit, and as text for
the terminal. Used by autoconfig, fine-tuning and distillation.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from weft.config.overrides import apply_overrides
from weft.config.recipe import Recipe, load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import PlainData, dump_yaml_inline

LINE_WIDTH = 100
INDENT = 26  # the longest place, data.validation_fraction, has 24 characters


class SettingChoice(NamedTuple):
    """A chosen setting. reason: a sentence that starts with the choice; None if it follows from another choice."""

    place: str  # section.setting
    value: PlainData
    reason: str | None = None


@dataclass(frozen=True)
class CommentedRecipe:
    """A chosen recipe. reasons: for the terminal. yaml: a file to edit, with the reasons as comments."""

    recipe: Recipe
    reasons: str
    yaml: str

    def to_json(self) -> dict[str, Any]:
        return {"recipe": to_dict(self.recipe, REGISTRY), "reasons": self.reasons, "yaml": self.yaml}


def make_commented_recipe(
    choices: Iterable[SettingChoice], overrides: Sequence[str], *, heading: str, title: str
) -> CommentedRecipe:
    """Combine the choices with a user's overrides, which take precedence."""
    places = overridden_places(overrides)
    choices = [choice for choice in choices if choice.place not in places]
    document = apply_overrides(choices_to_document(choices), overrides)
    return CommentedRecipe(
        load_recipe(document), format_choices(choices, heading), choices_to_yaml(document, choices, title)
    )


def overridden_places(overrides: Iterable[str]) -> set[str]:
    return {override.partition("=")[0].strip() for override in overrides}


def copy_section(node: dict[str, Any], section: str) -> Iterator[SettingChoice]:
    """Yield the settings of a section of another recipe, unchanged."""
    for name, value in node[section].items():
        yield SettingChoice(f"{section}.{name}", value)


def choices_to_document(choices: Iterable[SettingChoice]) -> dict[str, PlainData]:
    """Return the settings as a recipe file has them; choices of a section must be adjacent."""
    return {
        section: {choice.place.partition(".")[2]: choice.value for choice in chosen}
        for section, chosen in groupby(choices, key=lambda choice: choice.place.partition(".")[0])
    }


def choices_to_yaml(document: dict[str, PlainData], choices: Iterable[SettingChoice], title: str) -> str:
    """Return a recipe file in which each chosen setting follows a comment with its reason."""
    reasons = {choice.place: choice.reason for choice in choices}
    lines = [f"# {title}"]
    for section, settings in document.items():
        if not isinstance(settings, dict):
            lines.append(f"{section}: {dump_yaml_inline(settings)}")
            continue
        lines.append(f"{section}:")
        for name, value in settings.items():
            reason = reasons.get(f"{section}.{name}")
            lines += [f"  # {reason}"] if reason else []
            lines.append(f"  {name}: {dump_yaml_inline(value)}")
    return "\n".join(lines) + "\n"


def format_choices(choices: Iterable[SettingChoice], heading: str) -> str:
    """Return the choices that have reasons as text for a terminal."""
    indent = " " * (INDENT + 2)
    lines = [heading]
    for choice in choices:
        if choice.reason:
            first = f"  {choice.place:<{INDENT}}"
            lines.append(textwrap.fill(choice.reason, LINE_WIDTH, initial_indent=first, subsequent_indent=indent))
    return "\n".join(lines)
