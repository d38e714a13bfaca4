"""A temporary folder with the generated corpora and the runs, each trained once when first needed."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from golden import corpora, names, recipes


class Workshop:
    """Where everything is computed."""

    def __init__(self, folder: Path):
        self.corpora, self.runs = folder / "corpora", folder / "runs"
        self.corpora.mkdir()
        self.runs.mkdir()
        corpora.write_all(self.corpora)

    def run(self, label: str) -> Path:
        """Return the folder of a run."""
        out = self.runs / recipes.folder_name(label)
        if not out.exists():
            for before in recipes.runs_before(label):
                self.run(before)
            names.train(recipes.recipe(label, self.corpora, self.runs), out)
        return out


@contextmanager
def opened() -> Iterator[Workshop]:
    """Open a workshop with one thread."""
    os.environ.update({"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"})
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with TemporaryDirectory(prefix="golden-") as name, contextlib.ExitStack() as stack:
        stack.callback(torch.set_num_threads, threads)
        yield Workshop(Path(name))
