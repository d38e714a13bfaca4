"""weft serve, asked as its clients ask it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx2
import pytest
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from libretranslatepy import LibreTranslateAPI

from system.commands import PATIENCE, weft
from system.servers import KEY, Server, serving
from weft.serve.schemas import TranslateResponse

LANGUAGES = ("--languages", "en:de", "--languages", "en:fr")
FEW = ("--limit", "characters=2000", "--limit", "texts=50", "--limit", "body_bytes=10000", "--limit", "idle_timeout=1")


@pytest.fixture(scope="module")
def server(runs: dict[str, Path]) -> Iterator[Server]:
    """A Transformer from en to de, by CTranslate2, and a recurrent model from en to fr, by torch."""
    with serving(runs["transformer"], runs["bahdanau"], *LANGUAGES, *FEW) as one:
        yield one


@pytest.fixture(scope="module")
def locked(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that asks for a key."""
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(f"{KEY}\n", "utf-8")
    with serving(
        runs["transformer"], "--languages", "en:de", "--api-keys", keys, "--allowed-host", "translate.example"
    ) as one:
        yield one


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.src").read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def expected(runs: dict[str, Path], corpus: Path, sentences: list[str]) -> dict[str, dict[str, str]]:
    """What `weft translate` says of each sentence, by target language."""
    found = {"de": weft("translate", runs["transformer"], corpus / "test.src").lines}
    found["fr"] = weft("translate", runs["bahdanau"], corpus / "test.src").lines
    return {code: dict(zip(sentences, lines, strict=True)) for code, lines in found.items()}


def test_libretranslatepy_works_unchanged(
    server: Server, locked: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    client = LibreTranslateAPI(server.address)
    for code in ("de", "fr"):
        assert [client.translate(one, "en", code) for one in sentences[:5]] == [
            expected[code][one] for one in sentences[:5]
        ]
    assert client.languages()[0] == {"code": "en", "name": "English", "targets": ["de", "fr"]}
    assert client.detect("the red cat") == [{"confidence": 100.0, "language": "en"}]
    with pytest.raises(HTTPError, match="400"):
        client.translate("the red cat", "en", "it")
    with pytest.raises(HTTPError, match="403"):
        LibreTranslateAPI(locked.address).translate("the red cat", "en", "de")
    assert LibreTranslateAPI(locked.address, KEY).translate(sentences[0], "en", "de") == expected["de"][sentences[0]]


def test_deep_translator_works_unchanged(
    server: Server, locked: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    def client(one: Server, key: str, target: str = "de") -> Any:
        return LibreTranslator(source="en", target=target, api_key=key, custom_url=f"{one.address}/")

    assert client(server, "any").translate(sentences[0]) == expected["de"][sentences[0]]
    assert client(locked, KEY).translate_batch(sentences) == [expected["de"][one] for one in sentences]
    with pytest.raises(AuthorizationException):
        client(locked, "wrong").translate(sentences[0])
    with pytest.raises(ServerException):
        client(server, "any", "Italian").translate(sentences[0])


def test_forms_are_read_however_they_are_sent(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    asked = {"q": sentences[0], "source": "en", "target": "de", "format": "", "api_key": ""}
    for sent in ({"data": asked}, {"files": {name: (None, value) for name, value in asked.items()}}, {"params": asked}):
        answer = httpx2.post(f"{server.address}/translate", timeout=PATIENCE, **sent)
        assert answer.json() == {"translatedText": expected["de"][sentences[0]]}
    assert server.post("/translate", asked).json() == {"translatedText": expected["de"][sentences[0]]}


def test_a_batch_comes_back_in_its_order(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    answer = server.post("/translate", {"q": sentences, "source": "auto", "target": "fr", "api_key": None}).json()
    assert answer == {
        "translatedText": [expected["fr"][one] for one in sentences],
        "detectedLanguage": [{"confidence": 100.0, "language": "en"}] * len(sentences),
    }


def test_paragraphs_and_markup_are_kept(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    one, other = sentences[:2]
    said = [expected["de"][text] for text in (one, other)]
    assert server.translated(f"  - {one}\n\n{other}\r\n") == f"  - {said[0]}\n\n{said[1]}\r\n"
    page = '<p id="a">{}<br/></p><!-- x -->\n<a href="/the/red/cat">{}</a>&nbsp;'
    asked = {"q": page.format(one, other), "source": "en", "target": "de", "format": "html"}
    assert server.post("/translate", asked).json() == {"translatedText": page.format(*said)}


def test_alternatives_are_others(server: Server, sentences: list[str]) -> None:
    asked = {"q": sentences[0], "source": "en", "target": "fr", "alternatives": 3}
    answer = server.post("/translate", asked).json()
    texts = [answer["translatedText"], *answer["alternatives"]]
    assert len(set(texts)) == len(texts) == 4
    both = server.post("/translate", {**asked, "q": sentences[:2]}).json()
    assert both["alternatives"][0] == answer["alternatives"]
    assert len(both["alternatives"]) == 2


def test_each_of_many_gets_the_answer_to_its_own_question(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    asked = [(one, code) for one in sentences for code in ("de", "fr")] * 3
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda pair: server.translated(*pair), asked))
    assert answers == [expected[code][one] for one, code in asked]


def test_our_own_api_tells_what_is_known(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]], runs: dict[str, Path], corpus: Path
) -> None:
    answer = server.post("/v1/translate", {"lines": sentences}).json()
    assert [line["text"] for line in answer["lines"]] == [expected["de"][one] for one in sentences]
    body = {"lines": sentences, "model": "bahdanau", "beam": 4, "n_best": 3, "top_tokens": 2}
    answer = server.post("/v1/translate", {**body, "outputs": ["tokens", "alignment", "attention"]}).json()
    options = ("--json", "--beam", "4", "--n-best", "3", "--top-tokens", "2", "--attention")
    told = [json.loads(line) for line in weft("translate", runs["bahdanau"], corpus / "test.src", *options).lines]
    assert [line["alternatives"][0]["tokens"] for line in answer["lines"]] == [
        line["alternatives"][0]["tokens"] for line in told
    ]
    assert [line.keys() for line in answer["lines"]] == [line.keys() for line in told]
    TranslateResponse.model_validate(answer)


def test_lines_may_ask_for_phrases_and_paragraphs(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    lines = [{"text": sentences[0], "include": ["brava"], "exclude": ["kato"]}, sentences[1]]
    answer = server.post("/v1/translate", {"lines": lines, "beam": 4}).json()
    assert [(one["kind"], one["met"]) for one in answer["lines"][0]["constraints"]] == [
        ("include", True),
        ("exclude", True),
    ]
    assert "brava" in answer["lines"][0]["text"]
    TranslateResponse.model_validate(answer)
    text = f"- {sentences[0]}"
    answer = server.post("/v1/translate", {"lines": [text, ""], "paragraphs": True}).json()
    assert answer["lines"][0]["text"] == f"- {expected['de'][sentences[0]]}"
    assert answer["lines"][1] == {"source": "", "text": "", "sentences": []}
    TranslateResponse.model_validate(answer)


@pytest.mark.parametrize(("name", "code"), [("transformer", "de"), ("bahdanau", "fr")])
def test_words_are_told_as_they_are_written(
    server: Server, name: str, code: str, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    body = {"line": sentences[0], "model": name}
    with httpx2.stream("POST", f"{server.address}/v1/stream", json=body, timeout=PATIENCE) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [event.split("\n") for event in "".join(answer.iter_text()).split("\n\n")[:-1]]
    names = [event[0] for event in events]
    said = [json.loads(event[1].removeprefix("data: ")) for event in events]
    text = expected[code][sentences[0]]
    assert names == ["event: prefix"] * (len(names) - 1) + ["event: translation"]
    assert said[-1]["text"] == said[-2]["text"] == text
    assert [len(one["tokens"]) for one in said[:-1]] == list(range(1, len(said)))
    assert all(text.startswith(one["text"]) for one in said)


JSON_BODIES: list[tuple[str, Any, int, str]] = [
    ("/translate", {"q": "a", "source": "en"}, 400, "target: Field required"),
    ("/translate", {"source": "en", "target": "de"}, 400, "q: Field required"),
    ("/translate", {"q": "", "source": "en", "target": "de"}, 400, "q: is empty"),
    ("/translate", {"q": 5, "source": "en", "target": "de"}, 400, "q.str"),
    ("/translate", {"q": ["a", None], "source": "en", "target": "de"}, 400, "q."),
    ("/translate", {"q": "a", "source": "xx", "target": "de"}, 400, "xx is not supported"),
    ("/translate", {"q": [], "source": "xx", "target": "de"}, 400, "xx is not supported"),
    ("/translate", {"q": "a", "source": "auto", "target": "en"}, 400, "en is not supported"),
    ("/translate", {"q": "a", "source": "de", "target": "en"}, 400, "en is not available as a target language from de"),
    ("/translate", {"q": "a", "source": "en", "target": "de", "format": "pdf"}, 400, "format"),
    ("/translate", {"q": "a", "source": "en", "target": "de", "alternatives": -1}, 400, "alternatives"),
    ("/translate", {"q": "a", "source": "en", "target": "de", "alternatives": 99}, 400, "alternatives: 99"),
    ("/translate", {"q": "a" * 2001, "source": "en", "target": "de"}, 400, "characters: 2001, and the limit is 2000"),
    ("/translate", {"q": ["a"] * 51, "source": "en", "target": "de"}, 400, "texts: 51, and the limit is 50"),
    ("/translate", {"q": "a" * 10_000, "source": "en", "target": "de"}, 413, "10000 bytes"),
    ("/detect", {}, 400, "q: Field required"),
    ("/detect", {"q": ""}, 400, "q: is empty"),
    ("/v1/translate", {"lines": "a"}, 400, "lines"),
    ("/v1/translate", {"lines": ["a"], "model": "none"}, 404, "transformer, bahdanau"),
    ("/v1/translate", {"lines": ["a"], "beam": 99}, 400, "beam: 99"),
    ("/v1/translate", {"lines": ["a"], "beam": 2, "n_best": 3}, 409, "n_best is 3, but beam is 2"),
    ("/v1/translate", {"lines": ["a"], "n_best": 99}, 400, "best: 99"),
    ("/v1/translate", {"lines": ["a"], "top_tokens": 99}, 400, "top_tokens: 99"),
    ("/v1/translate", {"lines": ["a\nb"]}, 400, "lines.0"),
    ("/v1/translate", {"lines": ["a"], "bem": 2}, 400, "bem: Extra inputs"),
    ("/v1/translate", {"lines": [{"text": "a", "prefix_bias": 0.5}]}, 409, '"prefix", which is missing'),
    ("/v1/translate", {"lines": [{"text": "a", "exclude": ["b"] * 21}]}, 400, "phrases: 21"),
    ("/v1/translate", {"lines": [{"text": "ab", "include": [["c" * 999] * 2, "d"]}]}, 400, "characters: 2001, and"),
    ("/v1/translate", {"lines": ["a", {"text": "a", "exclude": ["b" * 1999]}]}, 400, "characters: 2001, and"),
    ("/v1/stream", {"line": {"text": "a", "prefix": "b", "vocabulary": ["c" * 1999]}}, 400, "characters: 2001, and"),
    ("/v1/translate", {"lines": ["a", {"text": "a", "include": ["b"], "exclude": ["b"]}]}, 409, "line 2: "),
    ("/v1/translate", {"lines": [{"text": "a", "prefix": "b"}], "paragraphs": True}, 409, "paragraphs"),
    ("/v1/stream", {"line": {"text": "a", "protect": ["urls"]}}, 409, "protect"),
    ("/v1/stream", {"line": "a", "model": "none"}, 404, "transformer"),
    ("/v1/inspect/words", {"line": ""}, 409, "the sentence is empty"),
    ("/v1/inspect/words", {"line": "a", "alternatives": 99}, 400, "alternatives: 99"),
    ("/v1/inspect/words", {"line": "a", "model": "none"}, 404, "transformer"),
    ("/v1/inspect/attention", {"line": "a" * 501}, 400, "line: 501, and the limit is 500"),
    ("/v1/inspect/attention", {"line": "a", "unit": "letters"}, 400, "unit"),
    ("/v1/inspect/search", {"line": "a", "beam": 99}, 400, "beam: 99"),
    ("/v1/inspect/search", {"line": {"text": "a", "protect": ["urls"]}}, 409, "protect"),
    ("/v1/inspect/gates", {"line": "a"}, 409, "no recurrent cells"),
    ("/v1/inspect/positions", {"line": "a", "model": "bahdanau"}, 409, "adds no position vectors"),
    ("/v1/inspect/frames", {"line": "a"}, 409, "no frame head"),
    ("/v1/reload", {}, 403, "SIGHUP"),
]


@pytest.mark.parametrize(("path", "body", "status", "told"), JSON_BODIES)
def test_what_cannot_be_is_refused_in_words(server: Server, path: str, body: Any, status: int, told: str) -> None:
    answer = server.post(path, body)
    assert (answer.status_code, answer.json().keys()) == (status, {"error"})
    assert told in answer.json()["error"]


BYTES = [
    (b'{"q":', "application/json", 400),
    (b"[1]", "application/json", 400),
    (b"[" * 9000, "application/json", 400),
    (b'{"q": "\xff", "source": "en", "target": "de"}', "application/json", 400),
    (b'{"q": "\\ud800", "source": "en", "target": "de"}', "application/json", 400),
    (b'{"q": NaN}', "application/json", 400),
    (b"q=%ff&source=en&target=de", "application/x-www-form-urlencoded", 400),
    (b"&".join([b"a=b"] * 200), "application/x-www-form-urlencoded", 400),
    (b"a,b", "text/csv", 415),
    (b"", "application/json", 400),
    (b"", "", 400),
    (b"x" * 150_000, "application/json", 413),
    (b"x" * 10_000_000, "application/json", 413),
]


@pytest.mark.parametrize(("body", "kind", "status"), BYTES)
def test_malformed_bodies_are_refused(server: Server, body: bytes, kind: str, status: int) -> None:
    headers = {"content-type": kind} if kind else {}
    try:
        answer = httpx2.post(f"{server.address}/translate", content=body, headers=headers, timeout=PATIENCE)
    except httpx2.TransportError:  # it was told while the rest was still on its way
        assert len(body) > 1_000_000
    else:
        assert (answer.status_code, answer.json().keys()) == (status, {"error"})
    assert server.translated("the cat") != ""


def test_what_is_not_there_is_told_as_json(server: Server) -> None:
    for answer, status in ((server.get("/none"), 404), (server.get("/translate"), 405)):
        assert (answer.status_code, answer.json().keys()) == (status, {"error"})
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    assert server.get("/health").json() == {"status": "ok"}


def test_only_who_names_this_machine_is_answered(server: Server, locked: Server) -> None:
    def status(one: Server, host: str) -> int:
        return one.get("/health", {"Host": host}).status_code

    for host in ("localhost", "LOCALHOST:80", "127.0.0.1:5000", "[::1]:5000", "localhost.", "localhost.:80"):
        assert status(server, host) == 200
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:5000", "127.0.0.1@evil.example", ""):
        assert status(server, host) == 421
    answer = server.get("/", {"Host": "evil.example:5000"})
    assert "--allowed-host evil.example" in answer.json()["error"]
    assert status(locked, "Translate.Example:443") == 200
    assert status(locked, "translate.example.evil") == 421


def test_connections_that_say_nothing_are_closed(server: Server) -> None:
    halves = [b"", b"POST /transl", b"POST /translate HTTP/1.1\r\nHost: a\r\n", b"\x00\xff\r\n\r\n"]
    sockets = [server.connect() for _ in range(5) for _ in halves]
    for number, one in enumerate(sockets):
        one.sendall(halves[number % len(halves)])
    assert server.translated("the cat") != ""
    for one in sockets:
        with suppress(ConnectionResetError):  # it was closed before anything was said
            while one.recv(4096):
                pass
        one.close()
    assert server.translated("the cat") != ""


def test_the_description_names_what_is_served(server: Server) -> None:
    node = server.get("/openapi.json").json()
    assert {*node["paths"]} == {
        "/translate", "/detect", "/languages", "/health", "/metrics",
        "/v1/translate", "/v1/stream", "/v1/models", "/v1/reload", "/v1/training",
        *(f"/v1/inspect/{kind}" for kind in ("words", "attention", "search", "gates", "positions", "frames")),
    }  # fmt: skip
    body = node["paths"]["/translate"]["post"]["requestBody"]["content"]
    assert {*body} == {"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}
    asked = body["application/json"]["schema"]["properties"]
    assert asked["source"]["enum"] == ["en", "auto"]
    assert asked["target"]["enum"] == ["de", "fr"]
    assert asked["q"]["anyOf"][0]["maxLength"] == 2000
    references = {word for word in json.dumps(node).split('"') if word.startswith("#/components/schemas/")}
    assert {one.rpartition("/")[2] for one in references} <= node["components"]["schemas"].keys()


def test_what_happens_is_counted(server: Server) -> None:
    def count(line: str) -> float:
        values = [one.rpartition(" ")[2] for one in server.get("/metrics").text.split("\n") if one.startswith(line)]
        return float(values[0]) if values else 0.0

    answered, refused = (
        'weft_requests_total{code="200",path="/translate"}',
        'weft_requests_total{code="400",path="/translate"}',
    )
    before = count(answered), count(refused), count('weft_characters_total{model="transformer"}')
    server.translated("the cat")
    server.post("/translate", {})
    assert (count(answered), count(refused)) == (before[0] + 1, before[1] + 1)
    assert count('weft_characters_total{model="transformer"}') == before[2] + len("the cat")
    assert count('weft_queue_lines{model="bahdanau"}') == 0
    assert count('weft_batch_lines_count{model="transformer"}') > 0


def test_with_keys_only_what_tells_nothing_is_open(locked: Server) -> None:
    assert locked.get("/languages").status_code == locked.get("/health").status_code == 200
    for path in ("/metrics", "/v1/models", "/v1/training"):
        assert locked.get(path).status_code == 403
        assert locked.get(path, {"Authorization": f"Bearer {KEY}"}).status_code == 200
    for path, body in (
        ("/translate", {"q": "a", "source": "en", "target": "de"}),
        ("/detect", {"q": "a"}),
        ("/v1/translate", {"lines": ["a"]}),
        ("/v1/stream", {"line": "a"}),
        ("/v1/inspect/words", {"line": "a"}),
        ("/v1/reload", {}),
    ):
        assert locked.post(path, body).status_code == 403
        assert locked.post(path, {**body, "api_key": "x" * 30}).status_code == 403
        assert locked.post(path, {**body, "api_key": KEY}).status_code == 200
