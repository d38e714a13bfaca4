"""CTranslate2's own translator, of a model that is converted for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2

from weft.engine.processor import bits_of_weights
from weft.export.converted import Precision, convert
from weft.export.described import Described
from weft.text.shortlist import Shortlist


def open_library(described: Described, precision: Precision, workers: int, shortlist: Shortlist | None) -> Any:
    """Of one thread for each worker, since two small products at once beat one on two cores.

    Who makes it has that one thread from then on, for whatever it computes with torch too: so it is made by a thread
    that does nothing else.
    """

    def make() -> Any:
        with TemporaryDirectory(prefix="weft-") as folder:
            convert(described, Path(folder), precision, shortlist, bits_of_weights())
            return ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type=precision,
                inter_threads=workers,
                intra_threads=1,
                max_queued_batches=-1,
            )

    with ThreadPoolExecutor(1) as aside:
        return aside.submit(make).result()
