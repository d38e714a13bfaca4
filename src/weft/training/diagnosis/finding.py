"""What a diagnosis comes to."""

from __future__ import annotations

from typing import Any, NamedTuple


class Finding(NamedTuple):
    """diagnosis: its name, told once in a run. what: was seen. setting: what to change."""

    diagnosis: str
    what: str
    cause: str
    setting: str

    def told(self) -> str:
        """For a person."""
        return f"diagnosis: {self.what}.\n  likely cause: {self.cause}\n  what to change: {self.setting}"

    def record(self, step: int) -> dict[str, Any]:
        """For the log."""
        return {"step": step, **self._asdict()}
