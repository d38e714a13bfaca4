"""The steps that all tokenizers share: what is done to a line before it is cut, where it is cut, how it is put back.

A piece that follows a space begins with that space, and one space is put before every line, so that a word is the same
piece wherever it stands. Putting the pieces side by side and taking that first space away gives the line back exactly:
runs of spaces, spaces at either end and "▁" itself survive, because a space is never written as another letter.
"""

from typing import Any, Literal

from tokenizers import Regex
from tokenizers.decoders import ByteFallback, Decoder, Fuse, Strip
from tokenizers.decoders import Sequence as DecoderSequence
from tokenizers.normalizers import NFC, NFKC, Lowercase, Normalizer, Prepend
from tokenizers.normalizers import Sequence as NormalizerSequence
from tokenizers.pre_tokenizers import PreTokenizer, Split

Form = Literal["none", "nfc", "nfkc"]
Unknown = Literal["bytes", "token"]

SHOWN_SPACE = "▁"
UNKNOWN_PIECE = "<unk>"
UNKNOWN_WORD = " <unk>"  # stands for a whole word, which as a rule follows a space
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))  # the names that the library's byte fallback looks for

LETTER = r"\p{L}\p{M}\x{200C}\x{200D}"  # the joiners are part of words in Persian and in the scripts of India
RUNS = rf" ?[{LETTER}]+| ?\p{{N}}+| ?[^ {LETTER}\p{{N}}]+| "
WORDS = rf" ?[{LETTER}\p{{N}}]+| ?[^ {LETTER}\p{{N}}]| "
SYMBOLS = r"\s+"  # between them


def plain(form: Form, lowercase: bool) -> Normalizer:
    """Unicode normalisation, then small letters, if wanted."""
    return NormalizerSequence(_normalizers(form, lowercase))


def spaced(form: Form, lowercase: bool) -> Normalizer:
    """The same, and a space before the line."""
    return NormalizerSequence([*_normalizers(form, lowercase), Prepend(" ")])


def _normalizers(form: Form, lowercase: bool) -> list[Normalizer]:
    forms: dict[Form, list[Normalizer]] = {"none": [], "nfc": [NFC()], "nfkc": [NFKC()]}
    return [*forms[form], *([Lowercase()] if lowercase else [])]


def runs() -> PreTokenizer:
    """Cut into runs of letters, of digits and of anything else, each with the space before it.

    No piece learned within such runs mixes letters with signs: none can be spelled "<0x41>" or "<unk>".
    """
    return Split(Regex(RUNS), "isolated")


def words() -> PreTokenizer:
    """Cut into words (letters and digits) and single signs, each with the space before it."""
    return Split(Regex(WORDS), "isolated")


def parts_words(described: dict[str, Any]) -> bool:
    """Does a tokenizer, as the library describes it, put a space before a line, and begin a piece at every space?"""
    match described["normalizer"], described["pre_tokenizer"]:
        case {"normalizers": [*_, {"type": "Prepend", "prepend": " "}]}, {"pattern": {"Regex": pattern}}:
            return pattern in (RUNS, WORDS)
    return False


def symbols() -> PreTokenizer:
    """Cut at white space, which is thrown away."""
    return Split(Regex(SYMBOLS), "removed")


def joined() -> Decoder:
    """Pieces side by side; bytes become letters again."""
    return DecoderSequence([ByteFallback(), Fuse()])


def joined_unspaced() -> Decoder:
    """The same without the one space that `spaced` had put before the line."""
    return DecoderSequence([ByteFallback(), Fuse(), Strip(" ", 1, 0)])


def stand_ins(unknown: Unknown) -> list[str]:
    """The pieces that stand for what was never seen; they come first."""
    return list(BYTE_PIECES) if unknown == "bytes" else [UNKNOWN_PIECE]
