"""`weft watch`: a single snapshot without a terminal, and the live display in a terminal."""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from system.commands import TIMEOUT, weft
from system.training_runs import run_contents


def test_snapshot_of_two_runs(runs: dict[str, Path]) -> None:
    before = {family: run_contents(run) for family, run in runs.items()}
    result = weft("watch", "--once", *runs.values())
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    lines = text.split("\n")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in text
    for marker, family in zip("●▲", runs, strict=True):
        assert re.search(rf"^{marker} {family} +━+ +80 of 80 +finished +loss \d", text, re.MULTILINE)
    for title in ("loss  ● training  ○ validation", "bleu", "learning rate", "gradient norm", "tokens per second"):
        assert f" {title}" in text
    records = [json.loads(line) for line in (runs["transformer"] / "log.jsonl").read_text("utf-8").split("\n")[:-1]]
    (*_, last) = (record["validation"] for record in records if "validation" in record)
    assert f" source    {last['examples'][0]['source']}" in text
    assert f" ○ 80      {last['examples'][0]['output'][:60]}" in text
    assert {family: run_contents(run) for family, run in runs.items()} == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_ctrl_c_restores_the_terminal(tmp_path: Path) -> None:
    """The run has not started, so the command waits."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "weft", "watch", str(tmp_path / "later")])
    output, end = b"", time.monotonic() + TIMEOUT
    while b"not started" not in output and time.monotonic() < end:
        output += os.read(terminal, 2**16)
    os.kill(child, signal.SIGINT)
    try:
        while part := os.read(terminal, 2**16):
            output += part
    except OSError:  # the terminal is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert output.count(b"\x1b[?1049h") == output.count(b"\x1b[?1049l") == 1  # alternate screen on and off
    assert b"\x1b[?25h" in output
    assert b"Traceback" not in output
