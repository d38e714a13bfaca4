"""Translate standard input, a line out for each line in: python translate.py < input.txt > output.txt"""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice

from model import Model  # the file beside this one

WINDOW = 1024  # lines that are read before they are translated; one, where a person waits for each


def translated(parts: Iterable[bytes], window: int = WINDOW) -> Iterator[bytes]:
    """The translations as they come. parts: a line each."""
    model, remaining = Model(), lines_of(parts)
    while few := list(islice(remaining, window)):
        for text in model.translate(few):
            yield f"{text}\n".encode()


def lines_of(parts: Iterable[bytes]) -> Iterator[str]:
    """UTF-8, without the ends of lines ("\\n" or "\\r\\n") and a byte order mark at the start."""
    for number, part in enumerate(parts, 1):
        line = part.removeprefix(BOM_UTF8) if number == 1 else part
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            sys.exit(f"standard input, line {number}: not UTF-8; convert it to UTF-8")


if __name__ == "__main__":
    for line in translated(sys.stdin.buffer, 1 if sys.stdin.isatty() else WINDOW):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
