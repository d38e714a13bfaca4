"""A recipe that Weft chooses, with a reason for each setting: as a recipe, as a YAML file to edit, and as text for the
terminal. Used by autoconfig, fine-tuning and distillation.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from weft.config.overrides import apply_overrides
from weft.config.recipe import Recipe, load_recipe
from weft.config.serialization import to_dict
from weft.config.yaml_files import PlainData, dump_yaml_inline
from weft.core.errors import UserError

LINE_WIDTH = 100
INDENT = 26  # the longest place, data.validation_fraction, has 24 characters
TITLE = "# Chosen by weft for {}. Edit it, and train with: weft train THIS_FILE --out FOLDER"


@dataclass(frozen=True)
class CommentedRecipe:
    """A chosen recipe. reasons: for the terminal. yaml: a file to edit, with the reasons as comments."""

    recipe: Recipe
    reasons: str
    yaml: str

    def to_json(self) -> dict[str, Any]:
        return {"recipe": to_dict(self.recipe), "reasons": self.reasons, "yaml": self.yaml}


def make_commented_recipe(
    document: dict[str, Any],
    reasons: Mapping[str, str],
    overrides: Sequence[str],
    *,
    heading: str,
    purpose: str,
    related: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> CommentedRecipe:
    """Combine the chosen settings with overrides, which take precedence.

    document: as a recipe file has it. reasons: by place, such as train.steps; each starts with the choice. purpose: the
    recipe is chosen for this. related: other places whose values a reason states; a reason is omitted if an override
    changes anything that it states.
    """
    document = apply_overrides(document, overrides)
    changed = overridden_places(overrides)
    reasons = {
        place: reason
        for place, reason in reasons.items()
        if not any(_overlap(one, other) for one in (place, *related.get(place, ())) for other in changed)
    }
    yaml = format_yaml(document, reasons, TITLE.format(purpose))
    return CommentedRecipe(load_recipe(document), format_reasons(reasons, heading), yaml)


def _overlap(place: str, other: str) -> bool:
    """Whether one of two places is, or contains, the other."""
    return f"{place}.".startswith(f"{other}.") or f"{other}.".startswith(f"{place}.")


def overridden_places(overrides: Iterable[str]) -> set[str]:
    return {override.partition("=")[0].strip() for override in overrides}


def refuse_settings(settings: Sequence[str], reserved: Mapping[str, str]) -> None:
    """Raise UserError if a user sets a reserved place. reserved: why it cannot be set, by place."""
    for place in sorted(overridden_places(settings)):
        if place in reserved:
            raise UserError(f"{place} is set, but {reserved[place]}: omit it")


def warmup_stable_decay(learning_rate: float, warmup_steps: int, decay_ratio: float = 0.6) -> dict[str, PlainData]:
    """Return a schedule that suits runs whose length is fixed later."""
    return {
        "type": "warmup-stable-decay",
        "learning_rate": learning_rate,
        "warmup_steps": warmup_steps,
        "decay_ratio": decay_ratio,
    }


def format_yaml(document: dict[str, PlainData], reasons: Mapping[str, str], title: str) -> str:
    """Return a recipe file in which settings follow a comment with their reason."""
    lines = [title]
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


def format_reasons(reasons: Mapping[str, str], heading: str) -> str:
    """Return the reasons as text for a terminal."""
    indent = " " * (INDENT + 2)
    lines = [heading]
    for place, reason in reasons.items():
        first = f"  {place:<{INDENT}}"
        lines.append(textwrap.fill(reason, LINE_WIDTH, initial_indent=first, subsequent_indent=indent))
    return "\n".join(lines)
