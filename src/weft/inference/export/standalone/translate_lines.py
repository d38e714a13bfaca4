"""Translate standard input, a line out for each line in: python translate.py < input.txt > output.txt"""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice

from model import Model

WINDOW = 1024  # lines that are read before they are translated; one if a person types them


def translate_stream(parts: Iterable[bytes], window: int = WINDOW) -> Iterator[bytes]:
    """Translate lines, given with their line ends, as they are read."""
    model, lines = Model(), decode_lines(parts)
    while batch := list(islice(lines, window)):
        for text in model.translate(batch):
            yield f"{text}\n".encode()


def decode_lines(parts: Iterable[bytes]) -> Iterator[str]:
    """Decode UTF-8 lines, without line ends ("\\n" or "\\r\\n") and without a byte order mark at the start."""
    for number, part in enumerate(parts, 1):
        line = part.removeprefix(BOM_UTF8) if number == 1 else part
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            sys.exit(f"standard input, line {number}: not UTF-8; convert it to UTF-8")


if __name__ == "__main__":
    for line in translate_stream(sys.stdin.buffer, 1 if sys.stdin.isatty() else WINDOW):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
