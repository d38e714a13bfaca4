"""Every reader of untrusted files and request bodies, as a function of bytes that may raise only UserError.

Each has a folder to write the bytes to, and valid inputs as seeds.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, TypeAlias

from fastapi.exceptions import RequestValidationError
from PIL import Image
from safetensors.torch import load_file, save_file
from starlette import requests as starlette_requests
from starlette.types import Message
from torch import zeros

from fuzz import run_files, yaml_text
from weft.checkpoints.file_formats import explain_load_errors
from weft.checkpoints.manifest import MANIFEST_FILE, check_manifest, write_manifest
from weft.checkpoints.model_folder import SHORTLIST_FILE, load_shortlist, read_saved_calibration
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import from_dict
from weft.config.yaml_files import read_yaml
from weft.core.errors import UserError
from weft.data.image_codec import ImageCodec
from weft.data.image_files import read_grayscale
from weft.data.pair_files import Shard, ShardFormat, read_pairs
from weft.data.text_files import read_lines
from weft.decoding.constraints.glossary import read_glossary
from weft.decoding.constraints.request import Request, parse_requests
from weft.inference.line_sentences import SplitLine, split_line
from weft.inference.translation import EMPTY_OUTPUT, Translation
from weft.serve.api_v1 import TranslateRequest
from weft.serve.auth import read_api_keys
from weft.serve.dependencies import json_or_form
from weft.serve.document_split import SplitDocument, split_html, split_text
from weft.serve.http_errors import ApiError
from weft.serve.libretranslate import LibreTranslateRequest
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import SPAN_KINDS
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import BPETokenizerTrainer, UnigramTokenizerTrainer, WordTokenizerTrainer

Read: TypeAlias = Callable[[Path, bytes], None]
TEXT = ["the red cat sees a dog", "a small tree, 3 houses", "this is a río"] * 3


class Reader(NamedTuple):
    """read: may raise only UserError. seeds: valid inputs to mutate. words: dictionary for the fuzzer.

    bombs: small inputs that expand to large ones, too slow to mutate often in a test.
    """

    read: Read
    seeds: Callable[[Path], list[bytes]]
    words: tuple[bytes, ...] = ()
    bombs: Callable[[], list[bytes]] = list


def read_safely(reader: Reader, folder: Path, content: bytes) -> bool:
    """Return whether the content was accepted; UserError means rejected, other exceptions pass through."""
    try:
        reader.read(folder, content)
    except UserError:
        return False
    return True


# --- Readers ---------------------------------------------------------------------------------------------------------


def configuration(folder: Path, content: bytes) -> None:
    from_dict(read_yaml(write(folder / "recipe.yaml", content)), Recipe, REGISTRY)


def manifest(folder: Path, content: bytes) -> None:
    write(folder / MANIFEST_FILE, content)
    check_manifest(folder)


def tensors(folder: Path, content: bytes) -> None:
    path = write(folder / "weights.safetensors", content)
    with explain_load_errors(path):
        load_file(path)


def shortlist(folder: Path, content: bytes) -> None:
    write(folder / SHORTLIST_FILE, content)
    load_shortlist(folder)


def tokenizer(folder: Path, content: bytes) -> None:
    loaded = Tokenizer.load(write(folder / "source.tokenizer.json", content))
    loaded.vocabulary()
    loaded.decode([*loaded.encode(["the cat", "ß 猫"]), list(range(loaded.size))])


def image_settings(folder: Path, content: bytes) -> None:
    ImageCodec.load(write(folder / "source.image.json", content)).vocabulary()


def calibration(folder: Path, content: bytes) -> None:
    write(folder / "confidence.json", content)
    read_saved_calibration(folder)


def glossary(folder: Path, content: bytes) -> None:
    read_glossary(write(folder / "terms.tsv", content))


def requests(folder: Path, content: bytes) -> None:
    for request in parse_requests(read_lines(write(folder / "lines.jsonl", content))):
        assert "\n" not in request.text


def image(folder: Path, content: bytes) -> None:
    assert read_grayscale(write(folder / "picture.png", content), 32).height == 32


def pair_reader(kind: ShardFormat) -> Read:
    def pairs(folder: Path, content: bytes) -> None:
        path = write(folder / f"pairs.{kind}", content)
        for pair in read_pairs(Shard((path,), kind), ("source", "target")):
            assert not any("\n" in side for side in pair)

    return pairs


def line_reader(ending: str) -> Read:
    def lines(folder: Path, content: bytes) -> None:
        for line in read_lines(write(folder / f"lines.{ending}", content)):
            assert "\n" not in line

    return lines


def keys(folder: Path, content: bytes) -> None:
    assert read_api_keys(write(folder / "keys", content))


def split_sentences(request: Request) -> SplitLine:
    return split_line(request, SentenceSplitter(), SPAN_KINDS)


def split_lines(text: str) -> SplitDocument:
    return split_text(text, split_sentences)


def split_page(text: str) -> SplitDocument:
    return split_html(text, split_sentences)


def document_reader(split: Callable[[str], SplitDocument]) -> Read:
    """Split a document into sentences and fill them in again."""

    def copy(request: Request) -> Translation:
        return Translation(request.text, (EMPTY_OUTPUT._replace(text=request.text),), spans=request.spans)

    def read(_folder: Path, content: bytes) -> None:
        document = split(content.decode("utf-8", "replace"))
        document.fill([line.join(list(map(copy, line.requests))) for line in document.lines])

    return read


def body_reader(content_type: str) -> Read:
    def body(_folder: Path, content: bytes) -> None:
        try:
            asyncio.run(_read_body(content_type, content))
        except (ApiError, RequestValidationError) as error:
            raise UserError(str(error)) from error

    return body


async def _read_body(content_type: str, content: bytes) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    headers = [(b"content-type", content_type.encode())]
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b"", "path": "/translate"}
    await json_or_form(LibreTranslateRequest)(starlette_requests.Request(scope, receive))
    if content_type == "application/json":
        try:
            TranslateRequest.model_validate(json.loads(content))  # as FastAPI does
        except (ValueError, RecursionError) as error:
            raise ApiError(400, "Invalid request") from error


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


# --- Seeds -----------------------------------------------------------------------------------------------------------


def texts(*seeds: bytes) -> Callable[[Path], list[bytes]]:
    return lambda _folder: list(seeds)


def manifest_seeds(folder: Path) -> list[bytes]:
    write(folder / "config.json", b"{}")
    write_manifest(folder, {"kind": "model"})
    return [(folder / MANIFEST_FILE).read_bytes()]


def tensor_seeds(folder: Path) -> list[bytes]:
    save_file({"a": zeros(2, 3), "b": zeros(1)}, folder / "seed")
    return [(folder / "seed").read_bytes()]


def tokenizer_seeds(_folder: Path) -> list[bytes]:
    trainers = (
        BPETokenizerTrainer(vocab_size=40, byte_fallback=False),
        UnigramTokenizerTrainer(vocab_size=40, byte_fallback=False),
        WordTokenizerTrainer(vocab_size=20),
    )
    return [trainer.train(TEXT).to_json().encode() for trainer in trainers]


def image_seeds(_folder: Path) -> list[bytes]:
    return [encode_image(name) for name in ("PNG", "GIF", "BMP", "JPEG", "TIFF", "WEBP", "PPM")]


def encode_image(image_format: str) -> bytes:
    buffer = BytesIO()
    Image.new("L", (9, 7), 128).save(buffer, image_format)
    return buffer.getvalue()


def compressed_reader(ending: str, compress: Callable[[bytes], bytes]) -> Reader:
    seeds = texts(compress(b"one\ntwo\n"), compress(b""), compress(b"a" * 10_000))
    return Reader(line_reader(ending), seeds, bombs=lambda: [compress(bytes(2**25))])


PAGE = b'<p class="a">One. <b translate="no">Two</b> &amp; three</p><!-- x --><script>1 < 2</script><br/>&#8212; end'
PAGE_WORDS = (b"<", b">", b"</", b"<!--", b"-->", b"<![", b"<!", b"<?", b"&#", b"&lt", b"<script>", b'translate="no"')
JSON_WORDS = (b'"', b"{", b"}", b"[", b"]", b"null", b"true", b"NaN", b"1e999", b"\\ud800", b"\xef\xbb\xbf")


def readers() -> Mapping[str, Reader]:
    """Return all readers by name."""
    import bz2
    import gzip
    import lzma

    config = b"data: {train: [a.en, a.de]}\nmodel:\n  encoder: {type: recurrent, cell: {dim: 12}}\ntrain: {steps: 3}\n"
    shipped = [path.read_bytes() for path in run_files.CONFIGS]
    tables = texts(b"a\tb\nc d\te\n"), texts(b'{"source": "a", "target": "b"}\n')
    rows = texts(b"house\tHaus\nman\tMann|Herr\nx\t!y\n\t!z\n")
    constraints = texts(b'{"text": "A house.", "include": ["Haus", ["a", "b"]], "exclude": ["x"]}\n')
    body = texts(
        b'{"q": "a", "source": "en", "target": "de", "format": "html", "alternatives": 2}', b'{"lines": ["a"]}'
    )
    heights = texts(b'{"height": 32, "invert": false}')
    fitted = b'{"good": "x", "intercept": 0, "slope": 1.5, "length": 0, "lines": 3, "share_good": 0.5, "error": 0}'
    return {
        "configuration": Reader(configuration, texts(config, *shipped, *yaml_text.DOCUMENTS), yaml_text.WORDS),
        "manifest": Reader(manifest, manifest_seeds, JSON_WORDS),
        "tensors": Reader(tensors, tensor_seeds, (b'"F32"', b'"BF16"', b'"data_offsets"', *JSON_WORDS)),
        "shortlist": Reader(shortlist, tensor_seeds, (b'"always"', b'"starts"', b'"listed"', b'"I64"')),
        "tokenizer": Reader(tokenizer, tokenizer_seeds, (b'"Split"', b'"Regex"', b'"unk_id"', *JSON_WORDS)),
        "picture-settings": Reader(image_settings, heights, JSON_WORDS),
        "calibration": Reader(calibration, texts(fitted), JSON_WORDS),
        "tsv": Reader(pair_reader("tsv"), tables[0], (b"\t", b"\n", b"\r")),
        "jsonl": Reader(pair_reader("jsonl"), tables[1], JSON_WORDS),
        "gzip": compressed_reader("gz", gzip.compress),
        "bzip2": compressed_reader("bz2", bz2.compress),
        "xz": compressed_reader("xz", lzma.compress),
        "glossary": Reader(glossary, rows, (b"\t", b"!", b"|", b"#")),
        "requests": Reader(requests, constraints, JSON_WORDS),
        "picture": Reader(image, image_seeds),
        "keys": Reader(keys, texts(b"# mine\n0123456789abcdef\n\n"), (b"#", b"\n")),
        "text": Reader(
            document_reader(lambda text: split_text(text, split_sentences)),
            texts(b"One. Two!\n\n Mr. Three?\r\n"),
            (b". ", b"\n", b"\xc2\xa0"),
        ),
        "page": Reader(document_reader(split_page), texts(PAGE), PAGE_WORDS),
        "data-json": Reader(run_files.data, lambda _: [run_files.data_seed()], JSON_WORDS),
        "state-json": Reader(run_files.state, lambda _: run_files.state_seeds(), JSON_WORDS),
        "finetune-json": Reader(run_files.finetuning, lambda _: [run_files.finetuning_seed()], JSON_WORDS),
        "teacher-json": Reader(run_files.distillation, lambda _: [run_files.distillation_seed()], JSON_WORDS),
        "json-body": Reader(body_reader("application/json"), body, JSON_WORDS),
        "form-body": Reader(
            body_reader("application/x-www-form-urlencoded"), texts(b"q=a&source=en&target=de"), (b"%FF",)
        ),
    }
