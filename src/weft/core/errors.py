"""What a person did that cannot work, told in one message: what was wrong, where, and what to do."""

from typing import NamedTuple


class UserError(Exception):
    """A mistake in the input, a file or an option. The command line prints it and exits with code 2."""


class Problem(NamedTuple):
    """One thing that is wrong in a configuration."""

    place: str  # dotted path, as one would write an override: model.encoder.layers
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class ConfigError(UserError):
    """Every problem of a configuration at once."""

    def __init__(self, problems: list[Problem]):
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n".join([f"{count} in the configuration:", *(f"  {problem}" for problem in problems)]))
