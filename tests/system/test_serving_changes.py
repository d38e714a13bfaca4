"""A server that has too much to do, whose model changes, and that is told to stop."""

import shutil
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx2
import pytest

from system.servers import KEY, Server, serving

LINE = "the red cat sees a dog"
LINES = "\n".join((LINE, "a cat", "this old tree has a wet river"))  # two models do not say the same of all of them
MANY = {"lines": [LINE] * 100, "beam": 8}


def queue_of(server: Server) -> int:
    return int(server.get("/v1/models").json()[0]["queue"])


def test_past_the_queue_there_is_429_and_nothing_is_lost(runs: dict[str, Path]) -> None:
    limits = ("--limit", "queue=10", "--limit", "batch_size=1")  # so slow that those who ask at once meet
    with serving(runs["bahdanau"], "--languages", "en:de", *limits) as server:
        [right] = {line["text"] for line in server.post("/v1/translate", MANY).json()["lines"]}
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda _: server.post("/v1/translate", MANY), range(24)))
        counts = Counter(answer.status_code for answer in answers)
        assert counts.keys() == {200, 429}
        for answer in answers:
            if answer.status_code == 200:
                assert [line["text"] for line in answer.json()["lines"]] == [right] * 100
            else:
                assert answer.headers["retry-after"] == "1"
        assert server.translated("the red cat") != ""


def test_what_takes_too_long_is_told(runs: dict[str, Path]) -> None:
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
    with serving(runs["bahdanau"], "--languages", "en:de", *limits) as server:
        answer = server.post("/v1/translate", {**MANY, "lines": [LINE] * 2000})
        assert (answer.status_code, answer.json().keys()) == (504, {"error"})
        with server.connect() as slow:
            slow.sendall(server.head("/translate", 1000) + b'{"q": "the red')
            said = b"".join(iter(lambda: slow.recv(4096), b""))  # until the connection is closed
            assert said.startswith(b"HTTP/1.1 408 ")
            assert b"did not arrive within 1 seconds" in said
        short = {"q": LINE, "source": "en", "target": "de"}
        server.until(lambda: server.post("/translate", short).status_code == 200)  # on a busy machine, not at once


def test_what_nobody_waits_for_is_left(runs: dict[str, Path]) -> None:
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
    with serving(runs["bahdanau"], "--languages", "en:de", *limits) as server:
        with server.asking("/v1/translate", {**MANY, "lines": [LINE] * 2000}):
            server.until(lambda: queue_of(server) > 0)
        server.until(lambda: queue_of(server) == 0)
        counted = dict(line.rsplit(" ", 1) for line in server.get("/metrics").text.split("\n") if line)
        assert float(counted['weft_batch_lines_sum{model="bahdanau"}']) < 2000
        server.until(lambda: 'weft_requests_total{code="499",path="/v1/translate"} 1.0' in server.get("/metrics").text)


def test_connections_beyond_the_limit_push_out_idle_ones(runs: dict[str, Path]) -> None:
    with serving(runs["transformer"], "--languages", "en:de", "--limit", "connections=10") as server:
        sockets = [server.connect() for _ in range(30)]
        assert server.translated("the cat") != ""
        assert sockets[0].recv(1) == b""
        for one in sockets:
            one.close()


def test_a_stop_finishes_what_was_accepted(runs: dict[str, Path]) -> None:
    with (
        serving(runs["bahdanau"], "--languages", "en:de", "--limit", "batch_size=1") as server,
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(server.post, "/v1/translate", {**MANY, "lines": [LINE] * 200})
        while not queue_of(server):
            assert not answer.done()
        assert server.stop() == 0
        assert len(answer.result().json()["lines"]) == 200
        with pytest.raises(httpx2.ConnectError):
            server.translated("the red cat")


def test_a_second_signal_ends_at_once(runs: dict[str, Path], tmp_path: Path) -> None:
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
    place = {"TMPDIR": str(tmp_path)}
    with serving(runs["bahdanau"], "--languages", "en:de", *limits, environment=place) as server:
        assert len(list(tmp_path.iterdir())) == 1  # the copy of the model
        with server.asking("/v1/translate", {**MANY, "lines": [LINE] * 2000}) as asked:
            server.until(lambda: queue_of(server) > 0)
            server.command.send(signal.SIGTERM)
            server.until(lambda: not server.is_open())
            assert server.command.process.is_alive()
            server.command.send(signal.SIGTERM)
            assert server.command.wait().code == 130
            assert asked.recv(1) == b""
        assert list(tmp_path.iterdir()) == []


def test_a_signal_loads_the_models_anew(runs: dict[str, Path], tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(runs["transformer"] / "best", model)
    with serving(model, "--languages", "en:de") as server:
        old = server.translated(LINES)
        shutil.rmtree(model)
        server.command.send(signal.SIGHUP)
        server.until(lambda: "keeping the loaded model" in server.told)
        assert server.translated(LINES) == old
        shutil.copytree(runs["bahdanau"] / "best", model)
        server.command.send(signal.SIGHUP)
        server.until(lambda: "reloaded" in server.told)
        assert server.translated(LINES) != old


def test_a_model_is_changed_under_way(runs: dict[str, Path], tmp_path: Path) -> None:
    model, keys, over = tmp_path / "model", tmp_path / "keys.txt", Event()
    shutil.copytree(runs["transformer"] / "best", model)
    keys.write_text(KEY, "utf-8")
    with serving(model, "--languages", "en:de", "--api-keys", keys) as server, ThreadPoolExecutor(5) as pool:
        body = {"q": LINES, "source": "en", "target": "de", "api_key": KEY}

        def ask() -> str:
            answer = server.post("/translate", body)
            assert answer.status_code == 200, answer.text
            return str(answer.json()["translatedText"])

        def keep_asking() -> set[str]:
            said = {ask()}
            while not over.is_set():
                said.add(ask())
            return said

        old = ask()
        asking = [pool.submit(keep_asking) for _ in range(4)]
        shutil.rmtree(model)
        assert ask() == old
        wide = {"lines": [LINE], "beam": 3, "api_key": KEY}  # this is torch's, which is loaded only now
        assert server.post("/v1/translate", wide).status_code == 200
        shutil.copytree(runs["bahdanau"] / "best", model)
        assert server.post("/v1/reload", {"api_key": KEY}).json() == {"models": {"model": None}}
        new = ask()
        (model / "weights.safetensors").write_bytes(b"no weights")
        [told] = server.post("/v1/reload", {"api_key": KEY}).json()["models"].values()
        over.set()
        assert ask() == new != old
        assert set().union(*(one.result() for one in asking)) <= {old, new}
    assert f"{model}/weights.safetensors: is damaged" in told


@pytest.mark.slow
def test_a_folder_is_watched_while_another_model_is_copied_into_it(runs: dict[str, Path], tmp_path: Path) -> None:
    model, new = tmp_path / "model", runs["bahdanau"] / "best"
    shutil.copytree(runs["transformer"] / "best", model)
    with serving(model, "--languages", "en:de", "--reload") as server:
        old = server.translated(LINES)
        shutil.rmtree(model)
        shutil.copytree(new, model, ignore=shutil.ignore_patterns("weights.safetensors"))
        (model / "weights.safetensors").write_bytes((new / "weights.safetensors").read_bytes()[:1000])
        server.until(lambda: "keeping the loaded model" in server.told)
        shutil.copy(new / "weights.safetensors", model)
        server.until(lambda: server.translated(LINES) != old)
        assert server.told.count("keeping the loaded model") == 1
