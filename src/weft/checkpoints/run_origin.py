"""Where a run was started, so that its data is found from another working folder and after the run was moved.

config.yaml has the names of data files as the user wrote them. origin.json, in the run folder, has the absolute paths
of the working folder and of the run folder. It is the only file of a run with paths of the machine that the user did
not write; model folders have none.
"""

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from weft.checkpoints.file_formats import read_json_as, write_json
from weft.data.data_config import DataConfig

ORIGIN_FILE = "origin.json"


@dataclass(frozen=True)
class RunOrigin:
    """Absolute paths: the working folder in which a run was started, and the folder of the run at that time."""

    working_folder: str
    run_folder: str

    def locate(self, written: Path, run: Path) -> Path:
        """Return the path of a data file now: absolute as it was, else relative to the run, else as it was written."""
        absolute = _normalize(Path(self.working_folder) / written)
        if _exists(absolute):
            return written if _normalize(written.absolute()) == absolute else absolute
        moved = _normalize(run.absolute() / os.path.relpath(absolute, self.run_folder))
        return moved if _exists(moved) else written


def save_run_origin(folder: Path, run: Path) -> None:
    """Write origin.json into `folder`, which is to become the run folder `run`."""
    write_json(folder / ORIGIN_FILE, asdict(RunOrigin(str(Path.cwd()), str(run.absolute()))))


def locate_data(folder: Path, data: DataConfig) -> DataConfig:
    """Return data settings with the names under which files are found now; unchanged if those are found as written.

    folder: the run folder, or a model folder in it. A folder without origin.json, such as a copied model, changes
    nothing.
    """
    run = next((run for run in (folder, folder.resolve().parent) if (run / ORIGIN_FILE).is_file()), None)
    if run is None:
        return data
    origin, base = read_json_as(run / ORIGIN_FILE, RunOrigin), Path(data.folder).expanduser()

    def locate(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(origin.locate(base / Path(name).expanduser(), run)) for name in names)

    located = replace(
        data,
        folder="",
        train=locate(data.train),
        mix=tuple(replace(corpus, files=locate(corpus.files)) for corpus in data.mix),
        valid=locate(data.valid),
        test=locate(data.test),
    )
    return data if located.files() == data.files() else located


def _normalize(path: Path) -> Path:
    """Return the path without `..`, but with its links: what they point to may be elsewhere after a move."""
    return Path(os.path.normpath(path))


def _exists(path: Path) -> bool:
    """Whether there is such a file, or one that fits if the name is a pattern."""
    return path.exists() or (any(letter in path.name for letter in "*?") and any(path.parent.glob(path.name)))
