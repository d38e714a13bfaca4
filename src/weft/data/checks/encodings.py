"""Text in the wrong encoding: raw lines of any file, detection of the encoding of lines that are not UTF-8 (accepted
only if the other lines of the side confirm it), and mojibake, which is UTF-8 that was decoded as something else.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from weft.data.checks.problem_kinds import Problem
from weft.data.text_files import UTF8_BOM, read_blocks, split_at_line_ends
from weft.data.unicode_scripts import LATIN, line_script

UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CANDIDATE_ENCODINGS = ("cp1252", "cp1250", "cp1251", "koi8-r", "cp1253", "cp1254", "cp1257", "iso-8859-15")
MOJIBAKE_PATTERN = re.compile("[\u00c2-\u00f4][^\x00-\x7f]")  # a UTF-8 lead byte as Latin-1, and a continuation byte
SAMPLE_LINES = 1000  # lines of a file that decide on its encoding
MIN_KNOWN_SHARE = 0.95  # share of the characters that must also occur in the valid lines
PUNCTUATION = frozenset("“”„‘’‚«»‹›–—…•°€£§·\u00a0¿¡")
MAX_NON_ASCII_SHARE = 0.3  # of the letters of Western European lines


def read_raw_lines(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each line of a file and the bits of the problems of its bytes.

    Lines lack "\\n" but keep "\\r" before it and a byte order mark at the start of the file. Bytes that are
    not UTF-8 are lone surrogates (PEP 383). UTF-16 with a byte order mark is decoded, and reported as a problem.
    """
    blocks = read_blocks(path)
    first = next(blocks, b"")
    content, file_problems = chain([first], blocks), 0
    if _is_utf16_start(first):
        content, file_problems = chain(_utf16_to_utf8(content)), Problem.INVALID_UTF8
    bom = Problem.BYTE_ORDER_MARK if first.startswith(UTF8_BOM) else 0
    for chunk in split_at_line_ends(content, str(path)):
        for text, problems in _decode_chunk(chunk):
            yield text, problems | file_problems | bom
            bom = 0


def is_utf16(path: Path) -> bool:
    return _is_utf16_start(next(read_blocks(path), b""))


def _is_utf16_start(block: bytes) -> bool:
    return block.startswith(UTF16_BOMS) and b"\0" in block


def _utf16_to_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def _decode_chunk(chunk: bytes) -> Iterator[tuple[str, int]]:
    try:
        yield from ((line, 0) for line in chunk.decode("utf-8").removesuffix("\n").split("\n"))
    except UnicodeDecodeError:
        for line in chunk.removesuffix(b"\n").split(b"\n"):
            text = line.decode("utf-8", "surrogateescape")
            yield text, 0 if is_valid_unicode(text) else Problem.INVALID_UTF8


def is_valid_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def detect_encodings(sides: Iterable[Sequence[Path]]) -> dict[Path, str]:
    """Return the encoding of the invalid lines of each file where it is certain.

    sides: the files of each side, whose valid lines show which characters are to be expected.
    """
    encodings: dict[Path, str] = {}
    for paths in sides:
        known: set[str] = set()
        for path in paths:
            for line, _ in read_raw_lines(path):
                if not line.isascii() and is_valid_unicode(line):
                    known.update(char for char in line if char > "\x7f")
        for path in paths:
            invalid = (line for line, _ in read_raw_lines(path) if not is_valid_unicode(line))
            sample = [line for line in islice(invalid, SAMPLE_LINES) if not _is_mixed(line)]
            if sample and (encoding := guess_encoding(sample, known)) is not None:
                encodings[path] = encoding
    return encodings


def guess_encoding(lines: Sequence[str], known: set[str]) -> str | None:
    """Return the candidate whose characters are nearly all known; if none are known, cp1252 if it is plausible."""
    raw = [line.encode("utf-8", "surrogateescape") for line in lines]
    decoded = {name: text for name in CANDIDATE_ENCODINGS if (text := _decode_lines(raw, name))}
    if not known:
        return "cp1252" if "cp1252" in decoded and _is_western(decoded["cp1252"]) else None
    shares = {name: _known_share(text, known) for name, text in decoded.items()}
    best = max(shares, key=shares.__getitem__, default=None)
    return best if best is not None and shares[best] >= MIN_KNOWN_SHARE else None


def decode_line(line: str, encoding: str | None) -> str:
    """Decode an invalid line; a line that also contains UTF-8 is a mix of two encodings and stays as it is."""
    if encoding is None or is_valid_unicode(line) or _is_mixed(line):
        return line
    try:
        return line.encode("utf-8", "surrogateescape").decode(encoding)
    except UnicodeDecodeError:
        return line


def _decode_lines(lines: Sequence[bytes], encoding: str) -> str:
    """Return the lines that can be decoded, or "" if too many cannot."""
    texts = []
    for line in lines:
        try:
            texts.append(line.decode(encoding))
        except UnicodeDecodeError:
            continue
    return "\n".join(texts) if len(texts) >= MIN_KNOWN_SHARE * len(lines) else ""


def _known_share(text: str, known: set[str]) -> float:
    non_ascii = [char for char in text if char > "\x7f"]
    return sum(char in known for char in non_ascii) / max(1, len(non_ascii))


def _is_western(text: str) -> bool:
    non_ascii = [char for char in text if char > "\x7f"]
    plausible = sum(char in PUNCTUATION or line_script(char) == LATIN for char in non_ascii)
    letters = sum(map(str.isalpha, text))
    return plausible >= MIN_KNOWN_SHARE * len(non_ascii) and len(non_ascii) <= MAX_NON_ASCII_SHARE * max(1, letters)


def _is_mixed(line: str) -> bool:
    """Whether some of the non-ASCII characters are valid UTF-8."""
    return any(char > "\x7f" and not "\udc80" <= char <= "\udcff" for char in line)


def is_mojibake(line: str) -> bool:
    """Whether UTF-8 was decoded as Windows-1252 or Latin-1.

    ftfy decides; the pattern, which every such text matches, is fifteen times as fast and excludes most other text.
    """
    if MOJIBAKE_PATTERN.search(line) is None:
        return False
    from ftfy.badness import is_bad

    return is_bad(line)


def repair_mojibake(line: str) -> str:
    """Decode the line as it was meant; return it unchanged unless all of its bytes together are UTF-8."""
    from ftfy import TextFixerConfig, fix_encoding

    exact = TextFixerConfig(
        restore_byte_a0=False,
        replace_lossy_sequences=False,
        decode_inconsistent_utf8=False,
        fix_c1_controls=False,
        explain=False,
    )
    return fix_encoding(line, exact)
