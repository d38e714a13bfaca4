"""`weft translate` with documents, and LibreTranslate's /translate_file."""

from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import httpx2
import pytest

from system.commands import TIMEOUT, weft
from system.servers import KEY, Server, start_server

MARKDOWN = "# The *red* cat\r\n\r\nthe big dog\r\nsees the cat\r\n\r\n```\ncode\n```\n"
SUBTITLES = "1\n00:00:01,000 --> 00:00:02,000\n<i>The red cat.</i>\n\n2\n00:00:03,500 --> 00:00:04,000\nThe big dog.\n"
CATALOG = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "the red cat"\nmsgstr ""\n'


@pytest.fixture(scope="module")
def server(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(f"{KEY}\n", "utf-8")
    limits = ("--limit", "files=2", "--limit", "file_characters=500", "--limit", "body_bytes=10000")
    with start_server(runs["transformer"], "--languages", "en:de", "--api-keys", keys, *limits) as server:
        yield server


def translation(run: Path, text: str) -> str:
    return weft("translate", run, "--text", text).lines[0]


def test_structure_stays_and_texts_are_translated(runs: dict[str, Path], tmp_path: Path) -> None:
    run, file = runs["transformer"], tmp_path / "text.srt"
    file.write_text(SUBTITLES, "utf-8", newline="")
    result = weft("translate", run, file)
    cat, dog = translation(run, "The red cat."), translation(run, "The big dog.")
    assert result.out.decode() == SUBTITLES.replace("The red cat.", cat).replace("The big dog.", dog)
    assert "2 translated" in result.err


def test_output_file_and_format_option(runs: dict[str, Path], tmp_path: Path) -> None:
    file, output = tmp_path / "page", tmp_path / "out.md"
    file.write_text(MARKDOWN, "utf-8", newline="")
    weft("translate", runs["transformer"], file, "--format", "markdown", "--output", output)
    lines = output.read_bytes().decode().split("\n")
    assert lines[0].startswith("# ")
    assert lines[0].count("*") == 2
    assert lines[-5:] == ["\r", "```", "code", "```", ""]
    as_lines = weft("translate", runs["transformer"], file, "--format", "text")
    assert len(as_lines.lines) == MARKDOWN.count("\n")


def post_file(server: Server, name: str, content: bytes, **fields: str) -> httpx2.Response:
    form = {"source": "en", "target": "de", "api_key": KEY} | fields
    return httpx2.post(f"{server.address}/translate_file", data=form, files={"file": (name, content)}, timeout=TIMEOUT)


def test_translated_file_can_be_downloaded(server: Server, runs: dict[str, Path]) -> None:
    """The request is written as LibreTranslate's clients write it."""
    boundary = "----boundary"
    fields = {"source": "en", "target": "de", "api_key": KEY}
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}' for n, v in fields.items()]
    head = 'Content-Disposition: form-data; name="file"; filename="app.po"\r\nContent-Type: text/x-po\r\n'
    body = "\r\n".join([*parts, f"--{boundary}\r\n{head}\r\n{CATALOG}", f"--{boundary}--\r\n"]).encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    with urlopen(Request(f"{server.address}/translate_file", body, headers), timeout=TIMEOUT) as response:
        url = httpx2.Response(200, content=response.read()).json()["translatedFileUrl"]
    assert url.startswith(f"{server.address}/download_file/")
    downloaded = httpx2.get(url, timeout=TIMEOUT)
    assert downloaded.status_code == 200
    assert f'msgstr "{translation(runs["transformer"], "the red cat")}"' in downloaded.text
    assert downloaded.headers["Content-Disposition"] == "attachment; filename*=UTF-8''app.de.po"


def test_plain_text_is_translated_line_by_line(server: Server, runs: dict[str, Path]) -> None:
    url = post_file(server, "text.txt", b"the red cat\r\n\r\nthe big dog").json()["translatedFileUrl"]
    cat, dog = (translation(runs["transformer"], text) for text in ("the red cat", "the big dog"))
    assert httpx2.get(url, timeout=TIMEOUT).content.decode() == f"{cat}\r\n\r\n{dog}"


def test_only_the_newest_files_are_kept(server: Server) -> None:
    urls = [post_file(server, "text.txt", b"the red cat").json()["translatedFileUrl"] for _ in range(3)]
    assert [httpx2.get(url, timeout=TIMEOUT).status_code for url in urls] == [404, 200, 200]


@pytest.mark.parametrize(
    ("name", "content", "fields", "status"),
    [
        ("text.txt", b"the red cat", {"api_key": "wrong" * 5}, 403),
        ("text.txt", b"the red cat", {"target": "it"}, 400),
        ("text.txt", b"the red cat", {"source": ""}, 400),
        ("text.pdf", b"%PDF-1.4", {}, 400),
        ("text.srt", b"no subtitles", {}, 400),
        ("text.txt", b"caf\xe9", {}, 400),
        ("text.txt", b"the red cat\n" * 100, {}, 400),
        ("text.txt", b"the red cat\n" * 1000, {}, 413),
    ],
)
def test_files_that_are_refused(server: Server, name: str, content: bytes, fields: dict[str, str], status: int) -> None:
    response = post_file(server, name, content, **fields)
    assert (response.status_code, list(response.json())) == (status, ["error"])


@pytest.mark.parametrize("name", ["none", "..%2F..%2Fetc%2Fpasswd", "%00"])
def test_nothing_else_can_be_downloaded(server: Server, name: str) -> None:
    assert httpx2.get(f"{server.address}/download_file/{name}", timeout=TIMEOUT).status_code in (400, 404)


def test_settings_list_the_formats(server: Server) -> None:
    settings = server.get("/frontend/settings").json()
    assert settings["keyRequired"]
    assert {".txt", ".po", ".docx", ".srt"} <= {*settings["supportedFilesFormat"]}
