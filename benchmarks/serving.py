"""Throughput of `weft serve` against translating a file, with the same backend, beam and model.

From the root of the repository:

    python -m benchmarks.serving RUN test.en --languages en:de
    python -m benchmarks.serving RUN test.en --clients 64 --texts 1 --texts 32 --seconds 60 --rounds 3

In every round the lines of the file are first translated in one process, as `weft translate` does, without start-up.
Then clients send requests to a local server for some seconds, each over one connection, one request at a time. Server
and clients share the CPU, which costs the server some speed. Lines that are not exactly one sentence are skipped, since
the server splits text into sentences. Every response is compared with the translation of the file. The report shows
lines per second, their ratio to the file in the same round, response times, status codes, and the server's memory
before and after.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import typer
from benchmarks.command_line import JsonFile, log, run_command, write_json
from benchmarks.machine import machine

from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.inference.backends import Backend, BackendOptions, select_backend
from weft.text.sentences import SentenceSplitter

HOST = "127.0.0.1"
MAX_LINES = 100_000  # of the file


@dataclass(frozen=True)
class Load:
    """Number of clients, and of texts per request."""

    clients: int
    texts: int


@dataclass(frozen=True)
class Figures:
    """Results of one round at one load. share: of the speed of the file. seconds: per response."""

    clients: int
    texts: int
    lines_per_second: float
    share: float
    median_seconds: float
    slowest_percent_seconds: float
    answers: dict[str, int]  # by status, "wrong" among them
    megabytes_before: float
    megabytes_after: float


class ClientStats:
    """Counters shared by all clients."""

    def __init__(self) -> None:
        self.lines = 0
        self.seconds: list[float] = []
        self.statuses: Counter[str] = Counter()


class Client:
    """One connection that sends requests one after the other."""

    def __init__(self, port: int, expected: dict[str, str], pair: tuple[str, str]):
        self._port, self._expected, self._pair = port, expected, pair

    async def run(self, parts: Iterator[list[str]], until: float, stats: ClientStats) -> None:
        reader, writer = await asyncio.open_connection(HOST, self._port)
        while time.perf_counter() < until:
            texts, begun = next(parts), time.perf_counter()
            writer.write(self._request(texts))
            status, body = await self._answer(reader)
            stats.seconds.append(time.perf_counter() - begun)
            right = status != 200 or json.loads(body)["translatedText"] == [self._expected[text] for text in texts]
            stats.statuses[str(status) if right else "wrong"] += 1
            stats.lines += len(texts) if status == 200 else 0
        writer.close()
        await writer.wait_closed()

    def _request(self, texts: list[str]) -> bytes:
        source, target = self._pair
        body = json.dumps({"q": texts, "source": source, "target": target}).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    @staticmethod
    async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        return int(head.split(b" ", 2)[1]), await reader.readexactly(int(length[1]) if length else 0)


@contextmanager
def serving(model: Path, beam: int, languages: str) -> Iterator[tuple[int, int]]:
    """Start a server; yield its port and process id."""
    command = [sys.executable, "-m", "weft", "serve", str(model), "--beam", str(beam), "--languages", languages]
    with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"serving at \S+:(\d+)\n", line):
                    yield int(found[1]), process.pid
                    break
            else:
                raise UserError("the server did not start")
        finally:
            process.terminate()


def megabytes(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def file_speed(engine: Backend, lines: Sequence[str]) -> tuple[float, dict[str, str]]:
    """Return lines per second, and the translation of each line."""
    begun = time.perf_counter()
    outputs = [translation.text for translation in engine.stream(lines)]
    return len(lines) / (time.perf_counter() - begun), dict(zip(lines, outputs, strict=True))


async def send_requests(load: Load, client: Client, lines: Sequence[str], seconds: float) -> tuple[float, ClientStats]:
    """Run all clients concurrently; return the time until the last response, and the counters."""
    endless, stats = cycle(lines), ClientStats()
    parts = iter(lambda: list(islice(endless, load.texts)), [])
    begun = time.perf_counter()
    await asyncio.gather(*(client.run(parts, begun + seconds, stats) for _ in range(load.clients)))
    return time.perf_counter() - begun, stats


def measure(load: Load, server: tuple[int, int], client: Client, lines: Sequence[str], seconds: float) -> Figures:
    """Measure one load in one round; the share is filled in later."""
    before = megabytes(server[1])
    took, stats = asyncio.run(send_requests(load, client, lines, seconds))
    slow = quantiles(stats.seconds, n=100)[98] if len(stats.seconds) > 1 else stats.seconds[0]
    return Figures(
        load.clients,
        load.texts,
        stats.lines / took,
        0.0,
        median(stats.seconds),
        slow,
        dict(stats.statuses),
        before,
        megabytes(server[1]),
    )


def format_figures(figures: Figures) -> str:
    return (
        f"{figures.clients:4} clients x {figures.texts:3} texts: {figures.lines_per_second:8.1f} lines/s, "
        f"{figures.share:.2f} of the file; answers after {1000 * figures.median_seconds:.0f} ms (median), "
        f"{1000 * figures.slowest_percent_seconds:.0f} ms (99th of 100); {figures.answers}; "
        f"{figures.megabytes_before:.0f} -> {figures.megabytes_after:.0f} MB"
    )


def main(
    model: Annotated[Path, typer.Argument(metavar="RUN")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Lines to translate.")],
    clients: Annotated[list[int], typer.Option(min=1, max=1000)] = [1, 64],  # noqa: B006
    texts: Annotated[list[int], typer.Option(min=1, max=200)] = [1, 32],  # noqa: B006
    seconds: Annotated[float, typer.Option(min=1, max=600)] = 20.0,
    rounds: Annotated[int, typer.Option(min=1, max=20)] = 1,
    beam: Annotated[int, typer.Option(min=1)] = 5,
    languages: str = "en:de",
    json_file: JsonFile = None,
) -> None:
    """Measure the throughput of a server against translating a file."""
    source, _, target = languages.partition(":")
    splitter = SentenceSplitter(source)
    lines = [line for line in islice(read_lines(file), MAX_LINES) if splitter(line).sentences == (line,)]
    engine, description = select_backend(model, BackendOptions("auto", None, beam, ()), lambda: load_torch(model, beam))
    log(f"engine {description}; {os.cpu_count()} processors")
    list(engine.stream(lines[:64]))
    loads = [Load(client_count, text_count) for client_count in clients for text_count in texts]
    found: list[Figures] = []
    with serving(model, beam, languages) as server:
        for number in range(rounds):
            speed, expected = file_speed(engine, lines)
            print(f"round {number + 1}: file {speed:8.1f} lines/s", flush=True)
            client = Client(server[0], expected, (source, target))
            for load in loads:
                figures = measure(load, server, client, lines, seconds)
                found.append(Figures(**{**asdict(figures), "share": figures.lines_per_second / speed}))
                print(format_figures(found[-1]), flush=True)
    write_json(json_file, {"setting": machine() | {"beam": beam}, "figures": [asdict(figures) for figures in found]})


def load_torch(model: Path, beam: int) -> Backend:
    from weft.inference.loader import load_translator

    return load_translator(model, beam=beam)


if __name__ == "__main__":
    run_command(main, "serving")
