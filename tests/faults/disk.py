"""Train on a disk that becomes full: the run ends with a message, and its last complete checkpoint loads."""

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

MANY_STEPS = 100_000
LARGE_DISK = 2**28  # bytes


class FullDiskResult(NamedTuple):
    """The result of a run on a full disk. resumed_to: its last step after the disk was enlarged."""

    code: int
    stderr: str
    step: int | None
    outputs: list[str]
    resumed_to: int | None

    def is_correct(self) -> bool:
        """Whether there was one message, and a saved checkpoint could be resumed."""
        one_message = self.stderr.count("weft: ") == 1 and "Traceback" not in self.stderr
        return self.code == 2 and one_message and (self.step is None or self.resumed_to is not None)


def can_mount() -> bool:
    return os.name == "posix" and os.geteuid() == 0


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Mount a RAM disk of `size` bytes. Needs root."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "weft", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge(disk: Path) -> None:
    """Enlarge the disk."""
    subprocess.run(["mount", "-o", f"remount,size={LARGE_DISK}", str(disk)], check=True)


def fill_disk(disk: Path, corpus: Path, recipe_folder: Path) -> FullDiskResult:
    """Train until the disk is full; then enlarge it and resume for a few steps."""
    recipe, run = toys.write_recipe(recipe_folder / "recipe.yaml", large_recipe(corpus)), disk / "run"
    result = weft("train", recipe, "--out", run)
    step, outputs = newest_checkpoint(run)
    if step is None:
        return FullDiskResult(result.code, result.err, None, outputs, None)
    enlarge(disk)
    config = (run / "config.yaml").read_text("utf-8")
    (run / "config.yaml").write_text(config.replace(f"steps: {MANY_STEPS}", f"steps: {step + 3}"), "utf-8")
    resumed = weft("train", "--resume", run)
    return FullDiskResult(result.code, result.err, step, outputs, step + 3 if resumed.code == 0 else None)


def newest_checkpoint(run: Path) -> tuple[int | None, list[str]]:
    """Return the step of the newest complete checkpoint, and a translation by the saved model."""
    checkpoint = load_newest_checkpoint(run / "checkpoints", lambda _: None)
    step = None if checkpoint is None else int(checkpoint.state["cursor"]["step"])
    saved = (run / "best").exists() or (run / "last").exists()
    return step, [translation.text for translation in load_translator(run).stream(["the cat"])] if saved else []


def large_recipe(corpus: Path) -> dict[str, Any]:
    """A long run with a model of some megabytes and a checkpoint every other step."""
    node = toys.recipe(corpus, steps=MANY_STEPS)
    wide = {"dim": 256, "positions": "sinusoidal"}
    layer = {"type": "transformer", "layers": 1, "heads": 2, "ffn_dim": 256}
    node["model"] = {"source": wide, "encoder": layer, "target": wide, "decoder": layer, "tie": "all"}
    node["train"] |= {"checkpoint_steps": 2, "validation": {"every": 2, "lines": 1, "search": "greedy"}, "log_every": 1}
    return node
