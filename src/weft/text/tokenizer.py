"""Tokenizer: text to ids and back.

Wraps a tokenizer of the `tokenizers` library, with ids shifted to make room for the special tokens. A token that
follows a space starts with that space, and one space is prepended to every line, so a word has the same tokens wherever
it stands. A space is never replaced by another character, so decoding restores runs of spaces, spaces at either end and
"▁" itself.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, filterfalse
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Literal, TypeAlias, TypeGuard, TypeVar

import numpy as np
import tokenizers

from weft.core.codec import Codec, Modality, RaggedRows
from weft.core.errors import UserError
from weft.core.files import read_bounded
from weft.core.special_tokens import NUM_SPECIAL_TOKENS, SPECIAL_TOKENS
from weft.text.marked_text import OPEN_TAGS, TAG_CLASS, TAG_NAMES, TAGS

SPACE_SYMBOL = "▁"  # how a space inside a token is displayed
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))  # names fixed by the library's byte fallback
LETTER_CLASS = r"\p{L}\p{M}\x{200C}\x{200D}"  # joiners are part of words in Persian and in Indic scripts
RUN_PATTERN = rf" ?[{LETTER_CLASS}]+| ?\p{{N}}+| ?[^ {LETTER_CLASS}\p{{N}}]+| "  # runs of letters, digits, other
TAG_RUN_PATTERN = (  # the same, with each tag by itself
    rf"[{TAG_CLASS}]| ?[{LETTER_CLASS}]+| ?\p{{N}}+| ?[^ {LETTER_CLASS}\p{{N}}{TAG_CLASS}]+| "
)
WORD_PATTERN = rf" ?[{LETTER_CLASS}\p{{N}}]+| ?[^ {LETTER_CLASS}\p{{N}}]| "  # words, single punctuation marks
WHITESPACE_PATTERN = r"\s+"
# A space before an open tag is encoded behind it, so that a word after a tag has the tokens that it has elsewhere:
# "a ⟦(1⟧b⟦)1⟧" is "▁a ⟦(1⟧ ▁b ⟦)1⟧". Decoding reverses that; the order of the rules is right for nested pairs.
OPEN_TAG_SPACES = tuple((f" {tag}", f"{tag} ") for tag in OPEN_TAGS)
DISPLAYED_CHARACTERS = str.maketrans({" ": SPACE_SYMBOL, **TAG_NAMES})

MAX_CACHED_WORDS = 2**17  # about ten megabytes
MAX_CACHED_WORD_LENGTH = 32  # characters; longer ones, such as lines without a space, rarely recur
ID_DTYPE = np.dtype(np.uint32)

Item = TypeVar("Item")
TokenOrder: TypeAlias = Literal["forward", "backward"]
TOKENIZER_SUFFIXES: Mapping[TokenOrder, str] = {"forward": "tokenizer.json", "backward": "backward.json"}


class EncodingCache:
    """Encodes lines word by word and caches the ids of words; safe for use by several threads.

    Correct for tokenizers in which no token spans a space: the ids of a line are then those of its words. `encode`
    returns the ids of each of several lines, each with a space prepended.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]):
        self._encode = encode
        self._ids_by_word: dict[str, bytes] = {}
        self._lock = Lock()

    def encode_rows(self, lines: Iterable[str]) -> RaggedRows:
        words = [line.split(" ") if line else () for line in lines]
        with self._lock:
            new = list(set(filterfalse(self._ids_by_word.__contains__, chain.from_iterable(words))))
            for word, ids in zip(new, self._encode([word or " " for word in new]), strict=True):
                if not word:  # between two spaces: the ids of one space, without the prepended one
                    ids = ids[: len(ids) // 2]
                self._ids_by_word[word] = array(ID_DTYPE.char, ids).tobytes()  # for short rows faster than numpy
            rows = [b"".join(map(self._ids_by_word.__getitem__, row)) for row in words]
            for word in new:
                if len(word) > MAX_CACHED_WORD_LENGTH:
                    del self._ids_by_word[word]
            if len(self._ids_by_word) > MAX_CACHED_WORDS:
                self._ids_by_word.clear()  # frequent words return with the next lines
        lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // ID_DTYPE.itemsize
        return RaggedRows(np.frombuffer(b"".join(rows), ID_DTYPE), lengths)


class Tokenizer:
    """A trained tokenizer, saved as the library's JSON.

    The library has no special tokens, so text such as "<pad>" or "</s>" is ordinary text.

    size: number of ids, including special tokens. unknown_id: None if unknown characters are encoded as bytes.
    byte_ids: ids of the single-byte tokens. tag_ids: the id of each tag character; empty if the tags are no tokens.
    moves_spaces: whether decoding moves a space after an open tag before it. fingerprint: equal for tokenizers with
    equal behavior.
    order: order of the ids in a row; `backward` is for models that generate from right to left.
    """

    modality: ClassVar[Modality] = "text"
    shape: ClassVar[tuple[int, ...]] = ()

    def __init__(self, library: tokenizers.Tokenizer, order: TokenOrder = "forward"):
        text = library.to_str()
        config: dict[str, Any] = json.loads(text)
        model: dict[str, Any] = config["model"]
        self._library = library
        self.order = order
        self.file_suffix = TOKENIZER_SUFFIXES[order]
        self.size = library.get_vocab_size() + NUM_SPECIAL_TOKENS
        identity = text if order == "forward" else f"{order} {text}"
        self.fingerprint = blake2b(identity.encode(), digest_size=16).hexdigest()
        self.unknown_id = _unknown_id(library, model)
        self.byte_ids: tuple[int, ...] = ()
        if model.get("byte_fallback"):
            found = (library.token_to_id(token) for token in BYTE_TOKENS)
            self.byte_ids = tuple(number + NUM_SPECIAL_TOKENS for number in found if number is not None)
        self._byte_id_set = frozenset(self.byte_ids)
        numbers = {tag: number for tag in TAGS if (number := library.token_to_id(tag)) is not None}
        self.tag_ids: dict[str, int] = {}
        if len(numbers) == len(TAGS):
            self.tag_ids = {tag: number + NUM_SPECIAL_TOKENS for tag, number in numbers.items()}
        decoder = config["decoder"] or {}
        self.moves_spaces = any(step["type"] == "Replace" for step in decoder.get("decoders", ()))
        self._cache = EncodingCache(self.encode) if order == "forward" and _splits_at_spaces(config) else None

    def encode(self, lines: Iterable[str]) -> list[list[int]]:
        """Return the ids of each line, without special tokens."""
        return [[number + NUM_SPECIAL_TOKENS for number in row] for row in self._library_rows(lines)]

    def encode_rows(self, lines: Iterable[str]) -> RaggedRows:
        """Return the ids of all lines in one array; faster than `encode` for many lines."""
        if self._cache is not None:
            return self._cache.encode_rows(lines)
        rows = self._library_rows(lines)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.fromiter(chain.from_iterable(rows), np.uint32, lengths.sum()) + NUM_SPECIAL_TOKENS
        return RaggedRows(ids, lengths)

    def unknown_substrings(self, line: str) -> list[str]:
        """Return the distinct characters or words of a line that become the unknown token."""
        encoding = self._library.encode(_replace_surrogates(line), add_special_tokens=False)
        unknown = (
            line[first:end]
            for number, (first, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if number + NUM_SPECIAL_TOKENS == self.unknown_id
        )
        return list(dict.fromkeys(text.strip() or text for text in unknown))

    def offsets(self, line: str) -> list[tuple[int, int]]:
        """Return the character span (first, end) of each token; the space before a word may belong to its token."""
        spans: list[tuple[int, int]] = self._library.encode(_replace_surrogates(line), add_special_tokens=False).offsets
        return list(self.reorder(spans))

    def decode(self, rows: Iterable[Sequence[int]]) -> list[str]:
        """Return the text of each row of ids, without special tokens."""
        numbers = [
            [token - NUM_SPECIAL_TOKENS for token in self.reorder(row) if token >= NUM_SPECIAL_TOKENS] for row in rows
        ]
        lines: list[str] = self._library.decode_batch(numbers, skip_special_tokens=False)
        return lines

    def reversed(self) -> Tokenizer:
        """Return a tokenizer with the same tokens whose rows start with the last token of a line."""
        return Tokenizer(self._library, "backward")

    def reorder(self, row: Sequence[Item]) -> Sequence[Item]:
        """Convert between text order and id order (an involution)."""
        return row if self.order == "forward" else row[::-1]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens for display, with a space shown as "▁" and tags as "⟦1⟧", "⟦(1⟧" and "⟦)1⟧"."""
        return [self._raw(token).translate(DISPLAYED_CHARACTERS) for token in ids]

    def token_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Return the exact UTF-8 bytes of each token; a byte token may be only part of a character."""
        return [
            bytes.fromhex(self._raw(token)[3:5]) if token in self._byte_id_set else self._raw(token).encode()  # <0x41>
            for token in ids
        ]

    @property
    def joins_with_spaces(self) -> bool:
        """Whether decoding puts a space between any two tokens."""
        return self._library.decoder is None

    def vocabulary(self) -> list[str]:
        """Return the display form of every id."""
        return self.tokens(range(self.size))

    def raw_tokens(self) -> list[str]:
        """Return the library's form of every id from NUM_SPECIAL_TOKENS on."""
        return [self._raw(token) for token in range(NUM_SPECIAL_TOKENS, self.size)]

    def merges(self) -> list[tuple[int, int, int]]:
        """Return the BPE merges as ids (left, right, merged) in the order in which they were learned; else nothing."""
        model: dict[str, Any] = json.loads(self.to_json())["model"]
        ids = model["vocab"]
        return [
            (ids[left] + NUM_SPECIAL_TOKENS, ids[right] + NUM_SPECIAL_TOKENS, ids[left + right] + NUM_SPECIAL_TOKENS)
            for left, right in model.get("merges", [])
        ]

    def to_json(self) -> str:
        return str(self._library.to_str())

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str, order: TokenOrder = "forward") -> Tokenizer:
        """Load a file that `save` wrote; raise UserError if it has components that no trainer produces."""
        try:
            text = read_bounded(Path(path)).decode("utf-8")
            component = unsupported_component(json.loads(text))
            if component is not None:
                raise UserError(
                    f"{path}: not a tokenizer file of Weft (unsupported {component}). Train a new tokenizer."
                )
            library = tokenizers.Tokenizer.from_str(text)
        except UserError:
            raise
        except Exception as error:  # the library raises Exception itself
            raise UserError(f"{path}: not a tokenizer file ({error}). Train a new tokenizer.") from error
        if library.get_added_tokens_decoder():
            raise UserError(
                f"{path}: this tokenizer has special tokens, which text could contain. Train a new tokenizer."
            )
        return cls(library, order)

    def _library_rows(self, lines: Iterable[str]) -> list[Sequence[int]]:
        clean = [_replace_surrogates(line) for line in lines]
        return [self.reorder(row.ids) for row in self._library.encode_batch_fast(clean, add_special_tokens=False)]

    def _raw(self, token: int) -> str:
        if token < NUM_SPECIAL_TOKENS:
            return SPECIAL_TOKENS[token]
        text: str | None = self._library.id_to_token(token - NUM_SPECIAL_TOKENS)
        if text is None:
            raise ValueError(f"id {token} is out of range: the vocabulary has {self.size} tokens")
        return text


def is_tokenizer(codec: Codec) -> TypeGuard[Tokenizer]:
    return codec.modality == "text"


def _replace_surrogates(line: str) -> str:
    """Replace lone surrogates, which JSON can contain but UTF-8 cannot, by "?"."""
    return line.encode("utf-8", "replace").decode("utf-8")


def _unknown_id(library: tokenizers.Tokenizer, model: dict[str, Any]) -> int | None:
    if model.get("byte_fallback"):
        return None
    number = model.get("unk_id") if model["type"] == "Unigram" else library.token_to_id(model.get("unk_token") or "")
    return None if number is None else number + NUM_SPECIAL_TOKENS


def _splits_at_spaces(config: dict[str, Any]) -> bool:
    """Whether a space is prepended to each line and a token starts at every space."""
    match config["normalizer"], config["pre_tokenizer"]:
        case {"normalizers": list(steps)}, {"pattern": {"Regex": pattern}}:
            prepends = {"type": "Prepend", "prepend": " "} in steps
            return prepends and pattern in (RUN_PATTERN, TAG_RUN_PATTERN, WORD_PATTERN)
    return False


def unsupported_component(config: Any) -> str | None:
    """Return the name of the first component that no trainer produces, or None.

    The library can also load patterns that take hours to match, padding to any length, random splits and ids with gaps,
    so files are checked before the library parses them.
    """
    match config:
        case {"model": {"type": str(), "vocab": _}}:
            model: dict[str, Any] = config["model"]
            supported = {
                **{name: config.get(name) is None for name in ("truncation", "padding", "post_processor")},
                "normalizer": _is_sequence(config, "normalizer", ("NFC", "NFKC", "Lowercase", "Prepend")),
                "pre_tokenizer": _is_known_split(config.get("pre_tokenizer")),
                "decoder": _is_sequence(config, "decoder", ("ByteFallback", "Fuse", "Strip")),
                "model.dropout": model.get("dropout") is None,
                "model.vocab": _has_contiguous_ids(model),
                "model.unk_token": _has_unknown_token(model),
            }
            return next((name for name, is_supported in supported.items() if not is_supported), None)
    return "model"


def _is_sequence(config: dict[str, Any], name: str, types: tuple[str, ...]) -> bool:
    node = config.get(name)
    if not isinstance(node, dict) or node.get("type") != "Sequence":
        return node is None
    steps = node.get(f"{name}s")
    known = [_replacement(*texts) for before, after in OPEN_TAG_SPACES for texts in ((before, after), (after, before))]
    return isinstance(steps, list) and all(
        isinstance(step, dict) and (step.get("type") in types or step in known) for step in steps
    )


def _replacement(old: str, new: str) -> dict[str, Any]:
    """Return the library's JSON for replacing a text."""
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _is_known_split(node: Any) -> bool:
    match node:
        case None:
            return True
        case {"type": "Split", "pattern": {"Regex": str(pattern)}}:
            return pattern in (RUN_PATTERN, TAG_RUN_PATTERN, WORD_PATTERN, WHITESPACE_PATTERN)
    return False


def _has_contiguous_ids(model: dict[str, Any]) -> bool:
    match model:
        case {"type": "Unigram", "vocab": list(entries), "unk_id": int(unknown)}:
            scored = [entry[0] for entry in entries if isinstance(entry, list) and len(entry) == 2]
            tokens = {token for token in scored if isinstance(token, str)}
            return len(tokens) == len(entries) and 0 <= unknown < len(entries)
        case {"type": "BPE" | "WordLevel" | "WordPiece", "vocab": dict(vocab)}:
            ids = list(vocab.values())
            return all(type(number) is int for number in ids) and sorted(ids) == list(range(len(ids)))
    return False


def _has_unknown_token(model: dict[str, Any]) -> bool:
    match model:
        case {"type": "Unigram"} | {"type": "BPE", "unk_token": None}:
            return True
        case {"unk_token": str(token)}:
            return token in model["vocab"]
    return False
