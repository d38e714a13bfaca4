"""A run on a disk that becomes full: it ends with a message, and its last whole checkpoint loads."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from system import toys
from system.commands import weft
from weft.checkpoints.checkpoint import load_newest_checkpoint
from weft.inference.loader import load_translator

ENDLESS = 100_000  # steps
ROOM = 2**28  # bytes


class Filled(NamedTuple):
    """How a run on a full disk ended. went_on: the step to which it came once there was room."""

    code: int
    said: str
    step: int | None
    outputs: list[str]
    went_on: int | None

    def well(self) -> bool:
        """One message; and if there was room for a checkpoint, it was gone on with."""
        one = self.said.count("weft: ") == 1 and "Traceback" not in self.said
        return self.code == 2 and one and (self.step is None or self.went_on is not None)


def can_mount() -> bool:
    return os.name == "posix" and os.geteuid() == 0


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A disk of its own in memory, of so many bytes. Only root can make one."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "weft", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def grow(disk: Path) -> None:
    """Give it all the room that it needs."""
    subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(disk)], check=True)


def filled(disk: Path, corpus: Path, beside: Path) -> Filled:
    """Train until the disk is full; then make room, and go on for a few steps."""
    recipe, run = toys.write_recipe(beside / "recipe.yaml", recipe_of(corpus)), disk / "run"
    result = weft("train", recipe, "--out", run)
    step, outputs = whole(run)
    if step is None:
        return Filled(result.code, result.err, None, outputs, None)
    grow(disk)
    config = (run / "config.yaml").read_text("utf-8")
    (run / "config.yaml").write_text(config.replace(f"steps: {ENDLESS}", f"steps: {step + 3}"), "utf-8")
    again = weft("train", "--resume", run)
    return Filled(result.code, result.err, step, outputs, step + 3 if again.code == 0 else None)


def whole(run: Path) -> tuple[int | None, list[str]]:
    """The step of the newest whole checkpoint, and what the model in the folder says."""
    checkpoint = load_newest_checkpoint(run / "checkpoints", lambda _: None)
    step = None if checkpoint is None else int(checkpoint.state["cursor"]["step"])
    saved = (run / "best").exists() or (run / "last").exists()
    return step, [translation.text for translation in load_translator(run).stream(["the cat"])] if saved else []


def recipe_of(corpus: Path) -> dict[str, Any]:
    """A run that does not end, with a model of some megabytes and a checkpoint every other step."""
    node = toys.recipe(corpus, steps=ENDLESS)
    wide = {"dim": 256, "positions": "sinusoidal"}
    layer = {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 256}
    node["model"] = {"source": wide, "encoder": layer, "target": wide, "decoder": layer, "tie": "all"}
    node["train"] |= {"checkpoint_steps": 2, "validation": {"every": 2, "lines": 1, "search": "greedy"}, "log_every": 1}
    return node
