"""Errors that a user can fix: one message that says what is wrong, where, and what to do."""

from typing import NamedTuple


class UserError(Exception):
    """A mistake in the input, a file or an option. The command line prints it and exits with code 2."""


class ConfigProblem(NamedTuple):
    """One problem of a configuration; `place` is a dotted path as in an override, such as model.encoder.layers."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class ConfigError(UserError):
    """All problems of a configuration at once."""

    def __init__(self, problems: list[ConfigProblem]):
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n".join([f"{count} in the configuration:", *(f"  {problem}" for problem in problems)]))
