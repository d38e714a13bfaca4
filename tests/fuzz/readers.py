"""Every reader of files and bodies from elsewhere, as a function of bytes out of which only a UserError comes.

Each is given a folder of its own to put the bytes into, and some good input to begin with.
"""

import asyncio
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, TypeAlias

from PIL import Image
from safetensors.torch import load_file, save_file
from starlette.requests import Request
from starlette.types import Message
from torch import zeros

from fuzz import run_files, yaml_text
from weft.config.document import read_document
from weft.config.reader import read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.control.glossary import read_glossary
from weft.control.json_lines import read_requests
from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.data.pairs import read_pairs
from weft.data.shards import Kind, Shard
from weft.picture.opening import read_grey
from weft.picture.reader import PictureReader
from weft.serve.bodies import read_any, read_json
from weft.serve.keys import read_keys
from weft.serve.libretranslate import Translate
from weft.serve.limits import Limits
from weft.serve.parting import Parted, part_html, part_text
from weft.serve.refusal import RefusedError
from weft.serve.v1 import TranslateLines
from weft.store.calibration import read_calibration
from weft.store.manifest import MANIFEST, check_manifest, write_manifest
from weft.store.place import SHORTLIST
from weft.store.shortlist import load_shortlist
from weft.store.tensors import loading
from weft.text.learners import BPE, Unigram, Word
from weft.text.sentences import Splitter
from weft.text.tokenizer import Tokenizer

Read: TypeAlias = Callable[[Path, bytes], None]
SOME_TEXT = ["the red cat sees a dog", "a small tree, 3 houses", "this is a río"] * 3


class Reader(NamedTuple):
    """read: only a UserError may leave it. seeds: good input, of which others are made. words: what to try inside.

    bombs: small input that would become large, and takes too long to make many others of it in a test.
    """

    read: Read
    seeds: Callable[[Path], list[bytes]]
    words: tuple[bytes, ...] = ()
    bombs: Callable[[], list[bytes]] = list


def read_safely(reader: Reader, folder: Path, content: bytes) -> bool:
    """Was it read? A UserError is the one other thing that may become of it."""
    try:
        reader.read(folder, content)
    except UserError:
        return False
    return True


# --- Readers ---------------------------------------------------------------------------------------------------------


def configuration(folder: Path, content: bytes) -> None:
    read(read_document(written(folder / "recipe.yaml", content)), Recipe, REGISTRY)


def manifest(folder: Path, content: bytes) -> None:
    written(folder / MANIFEST, content)
    check_manifest(folder)


def tensors(folder: Path, content: bytes) -> None:
    path = written(folder / "weights.safetensors", content)
    with loading(path):
        load_file(path)


def shortlist(folder: Path, content: bytes) -> None:
    written(folder / SHORTLIST, content)
    load_shortlist(folder)


def tokenizer(folder: Path, content: bytes) -> None:
    found = Tokenizer.load(written(folder / "source.tokenizer.json", content))
    found.vocabulary()
    found.decode([*found.encode(["the cat", "ß 猫"]), list(range(found.size))])


def pictures_settings(folder: Path, content: bytes) -> None:
    PictureReader.load(written(folder / "source.picture.json", content)).vocabulary()


def calibration(folder: Path, content: bytes) -> None:
    written(folder / "confidence.json", content)
    read_calibration(folder)


def glossary(folder: Path, content: bytes) -> None:
    read_glossary(written(folder / "terms.tsv", content))


def requests(folder: Path, content: bytes) -> None:
    for request in read_requests(read_lines(written(folder / "lines.jsonl", content))):
        assert "\n" not in request.text


def picture(folder: Path, content: bytes) -> None:
    assert read_grey(written(folder / "picture.png", content), 32).height == 32


def pairs_of(kind: Kind) -> Read:
    def pairs(folder: Path, content: bytes) -> None:
        path = written(folder / f"pairs.{kind}", content)
        for pair in read_pairs(Shard((path,), kind), ("source", "target")):
            assert not any("\n" in side for side in pair)

    return pairs


def lines_in(ending: str) -> Read:
    def lines(folder: Path, content: bytes) -> None:
        for line in read_lines(written(folder / f"lines.{ending}", content)):
            assert "\n" not in line

    return lines


def keys(folder: Path, content: bytes) -> None:
    assert read_keys(written(folder / "keys", content))


def parted(part: Callable[[str, Splitter], Parted]) -> Read:
    """A text of a request, cut into sentences and put together again."""

    def parts(_folder: Path, content: bytes) -> None:
        found = part(content.decode("utf-8", "replace"), Splitter())
        found.filled(found.sentences)

    return parts


def body_of(content_type: str) -> Read:
    def body(_folder: Path, content: bytes) -> None:
        try:
            asyncio.run(_read_body(content_type, content))
        except RefusedError as error:
            raise UserError(str(error)) from error

    return body


async def _read_body(content_type: str, content: bytes) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    headers = [(b"content-type", content_type.encode())]
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b"", "path": "/translate"}
    await read_any(Request(scope, receive), Translate, Limits())
    if content_type == "application/json":
        await read_json(Request(scope, receive), TranslateLines, Limits())


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# --- What they are given first ---------------------------------------------------------------------------------------


def texts(*seeds: bytes) -> Callable[[Path], list[bytes]]:
    return lambda _folder: list(seeds)


def manifest_seeds(folder: Path) -> list[bytes]:
    written(folder / "config.json", b"{}")
    write_manifest(folder, {"kind": "model"})
    return [(folder / MANIFEST).read_bytes()]


def tensor_seeds(folder: Path) -> list[bytes]:
    save_file({"a": zeros(2, 3), "b": zeros(1)}, folder / "seed")
    return [(folder / "seed").read_bytes()]


def tokenizer_seeds(_folder: Path) -> list[bytes]:
    learners = (BPE(size=40, unknown="token"), Unigram(size=40, unknown="token"), Word(size=20))
    return [learner.learn(SOME_TEXT).describe().encode() for learner in learners]


def picture_seeds(_folder: Path) -> list[bytes]:
    return [drawn(name) for name in ("PNG", "GIF", "BMP", "JPEG", "TIFF", "WEBP", "PPM")]


def drawn(form: str) -> bytes:
    buffer = BytesIO()
    Image.new("L", (9, 7), 128).save(buffer, form)
    return buffer.getvalue()


def packed(ending: str, pack: Callable[[bytes], bytes]) -> Reader:
    seeds = texts(pack(b"one\ntwo\n"), pack(b""), pack(b"a" * 10_000))
    return Reader(lines_in(ending), seeds, bombs=lambda: [pack(bytes(2**25))])


PAGE = b'<p class="a">One. <b translate="no">Two</b> &amp; three</p><!-- x --><script>1 < 2</script><br/>&#8212; end'
PAGE_WORDS = (b"<", b">", b"</", b"<!--", b"-->", b"<![", b"<!", b"<?", b"&#", b"&lt", b"<script>", b'translate="no"')
JSON_WORDS = (b'"', b"{", b"}", b"[", b"]", b"null", b"true", b"NaN", b"1e999", b"\\ud800", b"\xef\xbb\xbf")


def readers() -> Mapping[str, Reader]:
    """All of them, by name."""
    import bz2
    import gzip
    import lzma

    config = b"data: {train: [a.en, a.de]}\nmodel:\n  encoder: {type: recurrent, cell: {dim: 12}}\ntrain: {steps: 3}\n"
    shipped = [path.read_bytes() for path in run_files.CONFIGS]
    tables = texts(b"a\tb\nc d\te\n"), texts(b'{"source": "a", "target": "b"}\n')
    rows = texts(b"house\tHaus\nman\tMann|Herr\nx\t!y\n\t!z\n")
    asked = texts(b'{"text": "A house.", "include": ["Haus", ["a", "b"]], "exclude": ["x"]}\n')
    body = texts(
        b'{"q": "a", "source": "en", "target": "de", "format": "html", "alternatives": 2}', b'{"lines": ["a"]}'
    )
    heights = texts(b'{"height": 32, "invert": false}')
    kept = b'{"good": "x", "intercept": 0, "slope": 1.5, "length": 0, "lines": 3, "share_good": 0.5, "error": 0}'
    return {
        "configuration": Reader(configuration, texts(config, *shipped, *yaml_text.DOCUMENTS), yaml_text.WORDS),
        "manifest": Reader(manifest, manifest_seeds, JSON_WORDS),
        "tensors": Reader(tensors, tensor_seeds, (b'"F32"', b'"BF16"', b'"data_offsets"', *JSON_WORDS)),
        "shortlist": Reader(shortlist, tensor_seeds, (b'"always"', b'"starts"', b'"listed"', b'"I64"')),
        "tokenizer": Reader(tokenizer, tokenizer_seeds, (b'"Split"', b'"Regex"', b'"unk_id"', *JSON_WORDS)),
        "picture-settings": Reader(pictures_settings, heights, JSON_WORDS),
        "calibration": Reader(calibration, texts(kept), JSON_WORDS),
        "tsv": Reader(pairs_of("tsv"), tables[0], (b"\t", b"\n", b"\r")),
        "jsonl": Reader(pairs_of("jsonl"), tables[1], JSON_WORDS),
        "gzip": packed("gz", gzip.compress),
        "bzip2": packed("bz2", bz2.compress),
        "xz": packed("xz", lzma.compress),
        "glossary": Reader(glossary, rows, (b"\t", b"!", b"|", b"#")),
        "requests": Reader(requests, asked, JSON_WORDS),
        "picture": Reader(picture, picture_seeds),
        "keys": Reader(keys, texts(b"# mine\n0123456789abcdef\n\n"), (b"#", b"\n")),
        "text": Reader(parted(part_text), texts(b"One. Two!\n\n Mr. Three?\r\n"), (b". ", b"\n", b"\xc2\xa0")),
        "page": Reader(parted(part_html), texts(PAGE), PAGE_WORDS),
        "data-json": Reader(run_files.facts, lambda _: [run_files.facts_seed()], JSON_WORDS),
        "state-json": Reader(run_files.state, lambda _: run_files.state_seeds(), JSON_WORDS),
        "finetune-json": Reader(run_files.tuned, lambda _: [run_files.tuned_seed()], JSON_WORDS),
        "teacher-json": Reader(run_files.taught, lambda _: [run_files.taught_seed()], JSON_WORDS),
        "json-body": Reader(body_of("application/json"), body, JSON_WORDS),
        "form-body": Reader(body_of("application/x-www-form-urlencoded"), texts(b"q=a&source=en&target=de"), (b"%FF",)),
    }
