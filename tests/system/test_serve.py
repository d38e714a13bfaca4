"""`weft serve` over HTTP: the LibreTranslate API, the v1 API, limits, keys and error responses."""

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

from system import toys
from system.commands import TIMEOUT, weft
from system.servers import KEY, Server, start_server
from weft.serve.schemas import TranslateResponse

LANGUAGES = ("--languages", "en:de", "--languages", "en:fr")
LIMITS = (
    "--limit",
    "characters=2000",
    "--limit",
    "texts=50",
    "--limit",
    "body_bytes=10000",
    "--limit",
    "idle_timeout=1",
)


@pytest.fixture(scope="module")
def server(runs: dict[str, Path]) -> Iterator[Server]:
    """A Transformer from en to de (CTranslate2) and a recurrent model from en to fr (torch)."""
    with start_server(runs["transformer"], runs["bahdanau"], *LANGUAGES, *LIMITS) as server:
        yield server


@pytest.fixture(scope="module")
def locked_server(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that requires an API key."""
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(f"{KEY}\n", "utf-8")
    with start_server(
        runs["transformer"], "--languages", "en:de", "--api-keys", keys, "--allowed-host", "translate.example"
    ) as server:
        yield server


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.src").read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def expected(runs: dict[str, Path], corpus: Path, sentences: list[str]) -> dict[str, dict[str, str]]:
    """The output of `weft translate` for each sentence, by target language."""
    outputs = {"de": weft("translate", runs["transformer"], corpus / "test.src").lines}
    outputs["fr"] = weft("translate", runs["bahdanau"], corpus / "test.src").lines
    return {code: dict(zip(sentences, lines, strict=True)) for code, lines in outputs.items()}


def test_libretranslatepy_works_unchanged(
    server: Server, locked_server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    client = LibreTranslateAPI(server.address)
    for code in ("de", "fr"):
        assert [client.translate(sentence, "en", code) for sentence in sentences[:5]] == [
            expected[code][sentence] for sentence in sentences[:5]
        ]
    assert client.languages()[0] == {"code": "en", "name": "English", "targets": ["de", "fr"]}
    detected = client.detect("the red cat")
    assert {found["language"] for found in detected} == {"en", "de", "fr"}
    assert detected[0]["language"] == "en"
    assert [found["confidence"] for found in detected] == sorted(
        (found["confidence"] for found in detected), reverse=True
    )
    with pytest.raises(HTTPError, match="400"):
        client.translate("the red cat", "en", "it")
    with pytest.raises(HTTPError, match="403"):
        LibreTranslateAPI(locked_server.address).translate("the red cat", "en", "de")
    assert (
        LibreTranslateAPI(locked_server.address, KEY).translate(sentences[0], "en", "de")
        == expected["de"][sentences[0]]
    )


def test_deep_translator_works_unchanged(
    server: Server, locked_server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    def client(host: Server, key: str, target: str = "de") -> Any:
        return LibreTranslator(source="en", target=target, api_key=key, custom_url=f"{host.address}/")

    assert client(server, "any").translate(sentences[0]) == expected["de"][sentences[0]]
    assert client(locked_server, KEY).translate_batch(sentences) == [expected["de"][sentence] for sentence in sentences]
    with pytest.raises(AuthorizationException):
        client(locked_server, "wrong").translate(sentences[0])
    with pytest.raises(ServerException):
        client(server, "any", "Italian").translate(sentences[0])


def test_form_fields_are_accepted_in_body_and_query(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    fields = {"q": sentences[0], "source": "en", "target": "de", "format": "", "api_key": ""}
    for options in (
        {"data": fields},
        {"files": {name: (None, value) for name, value in fields.items()}},
        {"params": fields},
    ):
        response = httpx2.post(f"{server.address}/translate", timeout=TIMEOUT, **options)
        assert response.json() == {"translatedText": expected["de"][sentences[0]]}
    assert server.post("/translate", fields).json() == {"translatedText": expected["de"][sentences[0]]}


def test_languages_are_those_of_the_model(runs: dict[str, Path]) -> None:
    source, target = toys.LANGUAGES
    with start_server(runs["transformer"]) as server:
        assert server.get("/languages").json()[0] == {"code": source, "name": "English", "targets": [target]}
        found = server.post("/detect", {"q": "Where is the dog?"}).json()
        assert [one["language"] for one in found] == [source, target]
        assert [one["confidence"] for one in found] == [50.0, 50.0]  # py3langid knows no artificial language


def test_batch_keeps_its_order(server: Server, sentences: list[str], expected: dict[str, dict[str, str]]) -> None:
    response = server.post("/translate", {"q": sentences, "source": "auto", "target": "fr", "api_key": None}).json()
    assert response["translatedText"] == [expected["fr"][sentence] for sentence in sentences]
    assert [found["language"] for found in response["detectedLanguage"]] == ["en"] * len(sentences)


def test_paragraphs_and_markup_are_preserved(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    first, second = sentences[:2]
    translations = [expected["de"][text] for text in (first, second)]
    assert server.translate(f"  - {first}\n\n{second}\r\n") == f"  - {translations[0]}\n\n{translations[1]}\r\n"
    page = '<p id="a">{}<br/></p><!-- x -->\n<a href="/the/red/cat">{}</a>&nbsp;'
    body = {"q": page.format(first, second), "source": "en", "target": "de", "format": "html"}
    assert server.post("/translate", body).json() == {"translatedText": page.format(*translations)}


def test_alternatives_differ_from_the_translation(server: Server, sentences: list[str]) -> None:
    body = {"q": sentences[0], "source": "en", "target": "fr", "alternatives": 3}
    response = server.post("/translate", body).json()
    texts = [response["translatedText"], *response["alternatives"]]
    assert len(set(texts)) == len(texts) == 4
    both = server.post("/translate", {**body, "q": sentences[:2]}).json()
    assert both["alternatives"][0] == response["alternatives"]
    assert len(both["alternatives"]) == 2


def test_concurrent_requests_get_their_own_translations(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    requests = [(sentence, code) for sentence in sentences for code in ("de", "fr")] * 3
    with ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(lambda pair: server.translate(*pair), requests))
    assert responses == [expected[code][sentence] for sentence, code in requests]


def test_v1_translate_returns_the_requested_outputs(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]], runs: dict[str, Path], corpus: Path
) -> None:
    response = server.post("/v1/translate", {"lines": sentences}).json()
    assert [line["text"] for line in response["lines"]] == [expected["de"][sentence] for sentence in sentences]
    body = {"lines": sentences, "model": "bahdanau", "beam": 4, "n_best": 3, "top_tokens": 2, "split": False}
    response = server.post("/v1/translate", {**body, "outputs": ["tokens", "alignment", "attention"]}).json()
    options = ("--json", "--beam", "4", "--n-best", "3", "--top-tokens", "2", "--attention")
    records = [json.loads(line) for line in weft("translate", runs["bahdanau"], corpus / "test.src", *options).lines]
    assert [line["alternatives"][0]["tokens"] for line in response["lines"]] == [
        line["alternatives"][0]["tokens"] for line in records
    ]
    assert [line.keys() for line in response["lines"]] == [line.keys() for line in records]
    TranslateResponse.model_validate(response)


def test_lines_may_have_constraints_and_several_sentences(
    server: Server, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    lines = [{"text": sentences[0], "include": ["brava"], "exclude": ["kato"]}, sentences[1]]
    response = server.post("/v1/translate", {"lines": lines, "beam": 4}).json()
    assert [(constraint["kind"], constraint["met"]) for constraint in response["lines"][0]["constraints"]] == [
        ("include", True),
        ("exclude", True),
    ]
    assert "brava" in response["lines"][0]["text"]
    TranslateResponse.model_validate(response)
    text = f"- {sentences[0]}"
    response = server.post("/v1/translate", {"lines": [text, ""]}).json()
    assert response["lines"][0]["text"] == f"- {expected['de'][sentences[0]]}"
    assert [[sentence["source"] for sentence in line["sentences"]] for line in response["lines"]] == [
        [sentences[0]],
        [],
    ]
    TranslateResponse.model_validate(response)


@pytest.mark.parametrize(("name", "code"), [("transformer", "de"), ("bahdanau", "fr")])
def test_stream_sends_each_prefix_of_the_translation(
    server: Server, name: str, code: str, sentences: list[str], expected: dict[str, dict[str, str]]
) -> None:
    body = {"line": sentences[0], "model": name}
    with httpx2.stream("POST", f"{server.address}/v1/stream", json=body, timeout=TIMEOUT) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = [event.split("\n") for event in "".join(response.iter_text()).split("\n\n")[:-1]]
    names = [event[0] for event in events]
    records = [json.loads(event[1].removeprefix("data: ")) for event in events]
    text = expected[code][sentences[0]]
    assert names == ["event: prefix"] * (len(names) - 1) + ["event: translation"]
    assert records[-1]["text"] == records[-2]["text"] == text
    assert [len(record["tokens"]) for record in records[:-1]] == list(range(1, len(records)))
    assert all(text.startswith(record["text"]) for record in records)


INVALID_REQUESTS: list[tuple[str, Any, int, str]] = [
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
    (
        "/translate",
        {"q": "a" * 2001, "source": "en", "target": "de"},
        400,
        "has 2,001 characters; this server takes 2,000",
    ),
    (
        "/translate",
        {"q": ["a"] * 51, "source": "en", "target": "de"},
        400,
        "has 51 texts or lines; this server takes 50",
    ),
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
    ("/v1/translate", {"lines": [{"text": "ab", "include": [["c" * 999] * 2, "d"]}]}, 400, "has 2,001 characters"),
    ("/v1/translate", {"lines": ["a", {"text": "a", "exclude": ["b" * 1999]}]}, 400, "has 2,001 characters"),
    ("/v1/stream", {"line": {"text": "a", "prefix": "b", "vocabulary": ["c" * 1999]}}, 400, "has 2,001 characters"),
    ("/v1/translate", {"lines": ["a", {"text": "a", "include": ["b"], "exclude": ["b"]}]}, 409, "line 2: "),
    ("/v1/translate", {"lines": ["a"], "paragraphs": True}, 400, "paragraphs: Extra inputs"),
    ("/v1/stream", {"line": {"text": "a", "protect": ["urls"]}}, 409, "protect"),
    ("/v1/stream", {"line": "a", "model": "none"}, 404, "transformer"),
    ("/v1/inspect/words", {"line": ""}, 409, "the sentence is empty"),
    ("/v1/inspect/alternatives", {"line": "a", "alternatives": 99}, 400, "alternatives: 99"),
    ("/v1/inspect/words", {"line": "a", "model": "none"}, 404, "transformer"),
    ("/v1/inspect/attention", {"line": "a" * 501}, 400, "has 501 characters; this server inspects 500"),
    ("/v1/inspect/attention", {"line": "a", "unit": "letters"}, 400, "unit"),
    ("/v1/inspect/search", {"line": "a", "beam": 99}, 400, "beam: 99"),
    ("/v1/inspect/search", {"line": {"text": "a", "protect": ["urls"]}}, 409, "protect"),
    ("/v1/inspect/gates", {"line": "a"}, 409, "no recurrent cells"),
    ("/v1/inspect/positions", {"line": "a", "model": "bahdanau"}, 409, "adds no position vectors"),
    ("/v1/inspect/frames", {"line": "a"}, 409, "no frame head"),
    ("/v1/reload", {}, 403, "SIGHUP"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), INVALID_REQUESTS)
def test_invalid_request_is_refused_with_a_message(
    server: Server, path: str, body: Any, status: int, message: str
) -> None:
    response = server.post(path, body)
    assert (response.status_code, response.json().keys()) == (status, {"error"})
    assert message in response.json()["error"]


MALFORMED_BODIES = [
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


@pytest.mark.parametrize(("body", "kind", "status"), MALFORMED_BODIES)
def test_malformed_bodies_are_refused(server: Server, body: bytes, kind: str, status: int) -> None:
    headers = {"content-type": kind} if kind else {}
    try:
        response = httpx2.post(f"{server.address}/translate", content=body, headers=headers, timeout=TIMEOUT)
    except httpx2.TransportError:  # refused while the rest was still being sent
        assert len(body) > 1_000_000
    else:
        assert (response.status_code, response.json().keys()) == (status, {"error"})
    assert server.translate("the cat") != ""


def test_unknown_path_and_method_are_reported_as_json(server: Server) -> None:
    for response, status in ((server.get("/none"), 404), (server.get("/translate"), 405)):
        assert (response.status_code, response.json().keys()) == (status, {"error"})
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in response.headers
    assert server.get("/health").json() == {"status": "ok"}


def test_unknown_host_header_is_refused(server: Server, locked_server: Server) -> None:
    def status(target: Server, host: str) -> int:
        return target.get("/health", {"Host": host}).status_code

    for host in ("localhost", "LOCALHOST:80", "127.0.0.1:5000", "[::1]:5000", "localhost.", "localhost.:80"):
        assert status(server, host) == 200
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:5000", "127.0.0.1@evil.example", ""):
        assert status(server, host) == 421
    response = server.get("/", {"Host": "evil.example:5000"})
    assert "--allowed-host evil.example" in response.json()["error"]
    assert status(locked_server, "Translate.Example:443") == 200
    assert status(locked_server, "translate.example.evil") == 421


def test_idle_connections_are_closed(server: Server) -> None:
    partial_requests = [b"", b"POST /transl", b"POST /translate HTTP/1.1\r\nHost: a\r\n", b"\x00\xff\r\n\r\n"]
    sockets = [server.connect() for _ in range(5) for _ in partial_requests]
    for number, connection in enumerate(sockets):
        connection.sendall(partial_requests[number % len(partial_requests)])
    assert server.translate("the cat") != ""
    for connection in sockets:
        with suppress(ConnectionResetError):  # closed before anything was received
            while connection.recv(4096):
                pass
        connection.close()
    assert server.translate("the cat") != ""


def test_openapi_describes_every_endpoint(server: Server) -> None:
    node = server.get("/openapi.json").json()
    assert {*node["paths"]} == {
        "/translate", "/detect", "/languages", "/health", "/metrics",
        "/translate_file", "/download_file/{name}", "/frontend/settings",
        "/v1/translate", "/v1/stream", "/v1/models", "/v1/reload", "/v1/training",
        *(f"/v1/inspect/{kind}" for kind in ("words", "alternatives", "attention", "search", "gates", "positions")),
        "/v1/inspect/frames",
    }  # fmt: skip
    body = node["paths"]["/translate"]["post"]["requestBody"]["content"]
    assert {*body} == {"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}
    properties = body["application/json"]["schema"]["properties"]
    assert properties["source"]["enum"] == ["en", "auto"]
    assert properties["target"]["enum"] == ["de", "fr"]
    assert properties["q"]["anyOf"][0]["maxLength"] == 2000
    references = {word for word in json.dumps(node).split('"') if word.startswith("#/components/schemas/")}
    assert {reference.rpartition("/")[2] for reference in references} <= node["components"]["schemas"].keys()


def test_metrics_count_requests_and_characters(server: Server) -> None:
    def count(line: str) -> float:
        values = [row.rpartition(" ")[2] for row in server.get("/metrics").text.split("\n") if row.startswith(line)]
        return float(values[0]) if values else 0.0

    answered, refused = (
        'weft_requests_total{code="200",path="/translate"}',
        'weft_requests_total{code="400",path="/translate"}',
    )
    before = count(answered), count(refused), count('weft_characters_total{model="transformer"}')
    server.translate("the cat")
    server.post("/translate", {})
    assert (count(answered), count(refused)) == (before[0] + 1, before[1] + 1)
    assert count('weft_characters_total{model="transformer"}') == before[2] + len("the cat")
    assert count('weft_queue_lines{model="bahdanau"}') == 0
    assert count('weft_batch_lines_count{model="transformer"}') > 0


def test_only_languages_and_health_need_no_key(locked_server: Server) -> None:
    assert locked_server.get("/languages").status_code == locked_server.get("/health").status_code == 200
    for path in ("/metrics", "/v1/models", "/v1/training"):
        assert locked_server.get(path).status_code == 403
        assert locked_server.get(path, {"Authorization": f"Bearer {KEY}"}).status_code == 200
    for path, body in (
        ("/translate", {"q": "a", "source": "en", "target": "de"}),
        ("/detect", {"q": "a"}),
        ("/v1/translate", {"lines": ["a"]}),
        ("/v1/stream", {"line": "a"}),
        ("/v1/inspect/words", {"line": "a"}),
        ("/v1/reload", {}),
    ):
        assert locked_server.post(path, body).status_code == 403
        assert locked_server.post(path, {**body, "api_key": "x" * 30}).status_code == 403
        assert locked_server.post(path, {**body, "api_key": KEY}).status_code == 200
