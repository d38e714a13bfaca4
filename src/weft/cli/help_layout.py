"""The layout of --help: commands by topic with whole summaries, options in panels.

Plain text: a layout by rich would take longer than the rest of the command.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from typer.core import TyperCommand, TyperGroup

HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}
TOPICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Start here": ("demo",),
        "Data": ("check", "datasets", "noise"),
        "Training": ("train", "finetune", "distill", "recipes", "watch", "report"),
        "Translation": ("translate", "complete", "serve", "score", "rerank"),
        "Evaluation": ("evaluate", "compare", "edit-distance"),
        "Inspection": ("show", "inspect"),
        "Deployment": ("calibrate", "shortlist", "export"),
    }
)


class TopicGroup(TyperGroup):
    """A group of commands whose help has a section for each topic."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        listed = {name for names in TOPICS.values() for name in names}
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        for topic, names in {**TOPICS, "Commands": others}.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, _summary(command.help or "")) for name, command in commands if command is not None]
            if rows:
                with formatter.section(topic):
                    formatter.write_dl(rows)


class PanelCommand(TyperCommand):
    """A command whose help has a section for each `rich_help_panel`, in the order of their first options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panels.setdefault(_panel(parameter) or kind, []).append(record)
        panels["Options"] = panels.pop("Options")  # what belongs to no panel, --help among it, comes last
        for title, rows in panels.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _panel(parameter: Any) -> str | None:
    panel: str | None = getattr(parameter, "rich_help_panel", None)
    return panel


def _summary(text: str) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join(text.partition("\b")[0].partition("\n\n")[0].split())
