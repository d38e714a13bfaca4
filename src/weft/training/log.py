"""Progress as JSON lines: one object a line, in the order of the steps."""

import json
from pathlib import Path
from typing import Any

from weft.store.files import write_atomically


class Log:
    """Appends to the run's log. On resuming, what came after the checkpoint is cut off: it will be written again."""

    def __init__(self, path: Path, after_step: int):
        self.path = path
        if path.exists():
            kept = [line for line in path.read_text("utf-8").split("\n") if before(line, after_step)]
            write_atomically(path, "".join(line + "\n" for line in kept).encode())

    def write(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def before(line: str, step: int) -> bool:
    """Is this a whole record of a step up to `step`? A line that a kill cut in half is not."""
    try:
        return bool(json.loads(line)["step"] <= step)
    except (ValueError, KeyError, TypeError):
        return False
