"""In which encoding the lines of a file are that are not UTF-8: only what the rest of the data bears out."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from weft.check.raw_lines import is_readable, raw_lines
from weft.data.scripts import LATIN, script_of

CANDIDATES = ("cp1252", "cp1250", "cp1251", "koi8-r", "cp1253", "cp1254", "cp1257", "iso-8859-15")
SAMPLE = 1000  # lines of a file by which this is decided
BORNE_OUT = 0.95  # the share of the letters that must be among those of the readable lines
PUNCTUATION = frozenset("“”„‘’‚«»‹›–—…•°€£§·\u00a0¿¡")
WESTERN = 0.3  # at most this share of the letters of Western European lines is not ASCII


class Encodings(NamedTuple):
    """The encoding of the unreadable lines of each file; those of other files stay unreadable."""

    known: Mapping[Path, str]

    def decoded(self, path: Path, line: str) -> str:
        """The line as text; one that also has UTF-8 in it is a mix of two encodings, and stays as it is."""
        encoding = self.known.get(path)
        if encoding is None or is_readable(line) or _is_mixed(line):
            return line
        try:
            return line.encode("utf-8", "surrogateescape").decode(encoding)
        except UnicodeDecodeError:
            return line


def find_encodings(sides: Iterable[Sequence[Path]]) -> Encodings:
    """Of the files of each side: the readable lines of a side tell which letters are to be expected."""
    known: dict[Path, str] = {}
    for paths in sides:
        letters: set[str] = set()
        for path in paths:
            for line in raw_lines(path):
                if not line.text.isascii() and is_readable(line.text):
                    letters.update(letter for letter in line.text if letter > "\x7f")
        for path in paths:
            unreadable = (line.text for line in raw_lines(path) if not is_readable(line.text))
            sample = [line for line in islice(unreadable, SAMPLE) if not _is_mixed(line)]
            if sample and (encoding := likely_encoding(sample, letters)) is not None:
                known[path] = encoding
    return Encodings(known)


def likely_encoding(lines: Sequence[str], letters: set[str]) -> str | None:
    """The candidate whose letters are nearly all among `letters`; if there are none, Western European or nothing."""
    whole = [line.encode("utf-8", "surrogateescape") for line in lines]
    decoded = {name: text for name in CANDIDATES if (text := _decode(whole, name))}
    if not letters:
        return "cp1252" if "cp1252" in decoded and _is_western(decoded["cp1252"]) else None
    shares = {name: _share(text, letters) for name, text in decoded.items()}
    best = max(shares, key=shares.__getitem__, default=None)
    return best if best is not None and shares[best] >= BORNE_OUT else None


def _decode(lines: Sequence[bytes], encoding: str) -> str:
    """The lines that can be decoded, if nearly all can."""
    texts = []
    for line in lines:
        try:
            texts.append(line.decode(encoding))
        except UnicodeDecodeError:
            continue
    return "\n".join(texts) if len(texts) >= BORNE_OUT * len(lines) else ""


def _share(text: str, letters: set[str]) -> float:
    high = [letter for letter in text if letter > "\x7f"]
    return sum(letter in letters for letter in high) / max(1, len(high))


def _is_western(text: str) -> bool:
    high = [letter for letter in text if letter > "\x7f"]
    plausible = sum(letter in PUNCTUATION or script_of(letter) == LATIN for letter in high)
    count = sum(map(str.isalpha, text))
    return plausible >= BORNE_OUT * len(high) and len(high) <= WESTERN * max(1, count)


def _is_mixed(line: str) -> bool:
    """Is some of what is not ASCII UTF-8?"""
    return any(letter > "\x7f" and not "\udc80" <= letter <= "\udcff" for letter in line)
