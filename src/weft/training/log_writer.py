"""Write the run log: JSON lines, and optionally TensorBoard event files."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from weft.checkpoints.run_log import parse_record, read_log_records
from weft.core.files import write_atomically
from weft.training.distributed import RankGroup

TENSORBOARD_FOLDER = "tensorboard"  # in the run folder
UNPLOTTED_FIELDS = ("step", "best", "seconds", "seconds_left")


class JSONLogWriter:
    """Appends records to log.jsonl; at first removes those after the checkpoint, which will be written again."""

    def __init__(self, path: Path, after_step: int):
        self.path = path
        if path.exists():
            parsed = ((line, parse_record(line)) for line in path.read_bytes().split(b"\n"))
            lines = [line for line, record in parsed if record is not None and record["step"] <= after_step]
            write_atomically(path, b"".join(line + b"\n" for line in lines))

    def write(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


class TensorBoardWriter:
    """Writes TensorBoard events. A resumed run starts a new file, which hides events after its checkpoint.

    The first file of a run repeats the records that its log already has.
    """

    def __init__(self, folder: Path, log: Path, after_step: int):
        from torch.utils.tensorboard import SummaryWriter

        records = () if folder.exists() else read_log_records(log)
        self._writer: Any = SummaryWriter(str(folder), purge_step=after_step + 1)
        for record in records:
            self.write(record)

    def write(self, record: dict[str, Any]) -> None:
        step = record["step"]
        if "diagnosis" in record:
            lines = [record["observation"], record["cause"], record["advice"]]
            self._text(f"diagnosis/{record['diagnosis']}", lines, step)
        elif "validation" in record:
            self._scalars("validation", record["validation"], step)
            for number, example in enumerate(record["validation"].get("examples", []), start=1):
                self._text(f"translations/{number}", list(example.values()), step)
        else:
            self._scalars("training", record, step)
        self._writer.flush()

    def _scalars(self, group: str, record: dict[str, Any], step: int) -> None:
        for name, value in record.items():
            if isinstance(value, int | float) and name not in UNPLOTTED_FIELDS:
                self._writer.add_scalar(f"{group}/{name}", value, step)

    def _text(self, name: str, lines: list[str], step: int) -> None:
        self._writer.add_text(name, "\n".join(f"    {line}" for line in lines), step)  # indented: no Markdown

    def close(self) -> None:
        self._writer.close()


LogWriters: TypeAlias = list[JSONLogWriter | TensorBoardWriter]


@contextmanager
def open_log(ranks: RankGroup, path: Path, after_step: int, tensorboard: Path | None) -> Iterator[LogWriters]:
    """Open the log of a run that continues after a step; on ranks other than 0 there are no writers.

    tensorboard: the folder of event files, or None.
    """
    writers: LogWriters = []
    with ExitStack() as stack:
        if ranks.rank == 0:
            writers.append(JSONLogWriter(path, after_step))
            if tensorboard is not None:
                writers.append(stack.enter_context(closing(TensorBoardWriter(tensorboard, path, after_step))))
        yield writers
