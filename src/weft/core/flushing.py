"""What is written waits in the system's memory until it is flushed: after a power cut, the rest is gone."""

import os
import sys
from pathlib import Path


def flush_tree(folder: Path) -> None:
    """Everything in the folder is on the disk, then the folder itself."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            flush(path)
    flush(folder)


def flush(path: Path) -> None:
    """What a file holds, or which names a folder holds, is on the disk."""
    if sys.platform == "win32":
        return  # Windows flushes neither a folder nor a file that is opened for reading
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
