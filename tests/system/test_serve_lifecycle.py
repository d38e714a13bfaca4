"""`weft serve`: queue and connection limits, timeouts, signals and reloading of models."""

import shutil
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx2
import pytest

from system.servers import KEY, Server, start_server

LINE = "the red cat sees a dog"
LINES = "\n".join((LINE, "a cat", "this old tree has a wet river"))  # the two models differ in at least one translation
LARGE_REQUEST = {"lines": [LINE] * 100, "beam": 8}


def queue_length(server: Server) -> int:
    return int(server.get("/v1/models").json()[0]["queue"])


def test_full_queue_returns_429_and_loses_no_accepted_request(runs: dict[str, Path]) -> None:
    limits = ("--limit", "queue=10", "--limit", "batch_size=1")  # slow enough that concurrent requests overlap
    with start_server(runs["bahdanau"], "--languages", "en:de", *limits) as server:
        [expected] = {line["text"] for line in server.post("/v1/translate", LARGE_REQUEST).json()["lines"]}
        with ThreadPoolExecutor(12) as pool:
            responses = list(pool.map(lambda _: server.post("/v1/translate", LARGE_REQUEST), range(24)))
        counts = Counter(response.status_code for response in responses)
        assert counts.keys() == {200, 429}
        for response in responses:
            if response.status_code == 200:
                assert [line["text"] for line in response.json()["lines"]] == [expected] * 100
            else:
                assert response.headers["retry-after"] == "1"
        assert server.translate("the red cat") != ""


def test_timeouts_are_reported(runs: dict[str, Path]) -> None:
    limits = (
        "--limit",
        "timeout=1",
        "--limit",
        "batch_size=1",
        "--limit",
        "characters=1000000",
        "--limit",
        "texts=2000",
    )
    with start_server(runs["bahdanau"], "--languages", "en:de", *limits) as server:
        response = server.post("/v1/translate", {**LARGE_REQUEST, "lines": [LINE] * 2000})
        assert (response.status_code, response.json().keys()) == (504, {"error"})
        with server.connect() as slow:
            slow.sendall(server.request_head("/translate", 1000) + b'{"q": "the red')
            content = b"".join(iter(lambda: slow.recv(4096), b""))  # until the connection is closed
            assert content.startswith(b"HTTP/1.1 408 ")
            assert b"did not arrive within 1 seconds" in content
        short = {"q": LINE, "source": "en", "target": "de"}
        server.wait_until(lambda: server.post("/translate", short).status_code == 200)  # slow on a busy machine


def test_request_of_a_closed_connection_is_cancelled(runs: dict[str, Path]) -> None:
    limits = (
        "--limit",
        "timeout=600",
        "--limit",
        "batch_size=1",
        "--limit",
        "texts=2000",
        "--limit",
        "characters=1000000",
    )
    with start_server(runs["bahdanau"], "--languages", "en:de", *limits) as server:
        with server.send_request("/v1/translate", {**LARGE_REQUEST, "lines": [LINE] * 2000}):
            server.wait_until(lambda: queue_length(server) > 0)
        server.wait_until(lambda: queue_length(server) == 0)
        metrics = dict(line.rsplit(" ", 1) for line in server.get("/metrics").text.split("\n") if line)
        assert float(metrics['weft_batch_lines_sum{model="bahdanau"}']) < 2000
        server.wait_until(
            lambda: 'weft_requests_total{code="499",path="/v1/translate"} 1.0' in server.get("/metrics").text
        )


def test_connection_limit_closes_idle_connections(runs: dict[str, Path]) -> None:
    with start_server(runs["transformer"], "--languages", "en:de", "--limit", "connections=10") as server:
        sockets = [server.connect() for _ in range(30)]
        assert server.translate("the cat") != ""
        assert sockets[0].recv(1) == b""
        for connection in sockets:
            connection.close()


def test_sigterm_finishes_accepted_requests(runs: dict[str, Path]) -> None:
    with (
        start_server(runs["bahdanau"], "--languages", "en:de", "--limit", "batch_size=1") as server,
        ThreadPoolExecutor(1) as pool,
    ):
        response = pool.submit(server.post, "/v1/translate", {**LARGE_REQUEST, "lines": [LINE] * 200})
        while not queue_length(server):
            assert not response.done()
        assert server.stop() == 0
        assert len(response.result().json()["lines"]) == 200
        with pytest.raises(httpx2.ConnectError):
            server.translate("the red cat")


def test_second_signal_stops_at_once(runs: dict[str, Path], tmp_path: Path) -> None:
    limits = (
        "--limit",
        "timeout=600",
        "--limit",
        "batch_size=1",
        "--limit",
        "texts=2000",
        "--limit",
        "characters=1000000",
    )
    environment = {"TMPDIR": str(tmp_path)}
    with start_server(runs["bahdanau"], "--languages", "en:de", *limits, environment=environment) as server:
        assert len(list(tmp_path.iterdir())) == 1  # the copy of the model
        with server.send_request("/v1/translate", {**LARGE_REQUEST, "lines": [LINE] * 2000}) as connection:
            server.wait_until(lambda: queue_length(server) > 0)
            server.command.send(signal.SIGTERM)
            server.wait_until(lambda: not server.is_open())
            assert server.command.process.is_alive()
            server.command.send(signal.SIGTERM)
            assert server.command.wait().code == 130
            assert connection.recv(1) == b""
        assert list(tmp_path.iterdir()) == []


def test_sighup_reloads_the_models(runs: dict[str, Path], tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(runs["transformer"] / "best", model)
    with start_server(model, "--languages", "en:de") as server:
        old = server.translate(LINES)
        shutil.rmtree(model)
        server.command.send(signal.SIGHUP)
        server.wait_until(lambda: "keeping the loaded model" in server.log)
        assert server.translate(LINES) == old
        shutil.copytree(runs["bahdanau"] / "best", model)
        server.command.send(signal.SIGHUP)
        server.wait_until(lambda: "reloaded" in server.log)
        assert server.translate(LINES) != old


def test_model_is_reloaded_while_requests_are_served(runs: dict[str, Path], tmp_path: Path) -> None:
    model, keys, stopped = tmp_path / "model", tmp_path / "keys.txt", Event()
    shutil.copytree(runs["transformer"] / "best", model)
    keys.write_text(KEY, "utf-8")
    with start_server(model, "--languages", "en:de", "--api-keys", keys) as server, ThreadPoolExecutor(5) as pool:
        body = {"q": LINES, "source": "en", "target": "de", "api_key": KEY}

        def translate() -> str:
            response = server.post("/translate", body)
            assert response.status_code == 200, response.text
            return str(response.json()["translatedText"])

        def send_requests() -> set[str]:
            outputs = {translate()}
            while not stopped.is_set():
                outputs.add(translate())
            return outputs

        old = translate()
        clients = [pool.submit(send_requests) for _ in range(4)]
        shutil.rmtree(model)
        assert translate() == old
        wide = {"lines": [LINE], "beam": 3, "api_key": KEY}  # served by torch, which is loaded only now
        assert server.post("/v1/translate", wide).status_code == 200
        shutil.copytree(runs["bahdanau"] / "best", model)
        assert server.post("/v1/reload", {"api_key": KEY}).json() == {"models": {"model": None}}
        new = translate()
        (model / "weights.safetensors").write_bytes(b"no weights")
        [message] = server.post("/v1/reload", {"api_key": KEY}).json()["models"].values()
        stopped.set()
        assert translate() == new != old
        assert set().union(*(client.result() for client in clients)) <= {old, new}
    assert f"{model}/weights.safetensors: is damaged" in message


@pytest.mark.slow
def test_watched_folder_is_reloaded_once_a_model_is_copied_completely(runs: dict[str, Path], tmp_path: Path) -> None:
    model, new = tmp_path / "model", runs["bahdanau"] / "best"
    shutil.copytree(runs["transformer"] / "best", model)
    with start_server(model, "--languages", "en:de", "--reload") as server:
        old = server.translate(LINES)
        shutil.rmtree(model)
        shutil.copytree(new, model, ignore=shutil.ignore_patterns("weights.safetensors"))
        (model / "weights.safetensors").write_bytes((new / "weights.safetensors").read_bytes()[:1000])
        server.wait_until(lambda: "keeping the loaded model" in server.log)
        shutil.copy(new / "weights.safetensors", model)
        server.wait_until(lambda: server.translate(LINES) != old)
        assert server.log.count("keeping the loaded model") == 1
