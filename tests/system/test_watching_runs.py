"""`weft watch` of real runs: a picture where nobody looks at a terminal, and a live one where somebody does."""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from system.commands import PATIENCE, weft
from system.following import left_behind


def test_a_picture_of_two_runs(runs: dict[str, Path]) -> None:
    before = {family: left_behind(run) for family, run in runs.items()}
    result = weft("watch", "--once", *runs.values())
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    lines = text.split("\n")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in text
    for sign, family in zip("●▲", runs, strict=True):
        assert re.search(rf"^{sign} {family} +━+ +80 of 80 +finished +loss \d", text, re.MULTILINE)
    for title in ("loss  ● training  ○ validation", "bleu", "learning rate", "gradient norm", "tokens per second"):
        assert f" {title}" in text
    valid = [json.loads(line) for line in (runs["transformer"] / "log.jsonl").read_text("utf-8").split("\n")[:-1]]
    (*_, last) = (record["validation"] for record in valid if "validation" in record)
    assert f" source    {last['examples'][0]['source']}" in text
    assert f" ○ 80      {last['examples'][0]['output'][:60]}" in text
    assert {family: left_behind(run) for family, run in runs.items()} == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_ctrl_c_leaves_a_terminal_as_it_was(tmp_path: Path) -> None:
    """Nothing has begun there, so it waits."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "weft", "watch", str(tmp_path / "later")])
    seen, end = b"", time.monotonic() + PATIENCE
    while b"not started" not in seen and time.monotonic() < end:
        seen += os.read(terminal, 2**16)
    os.kill(child, signal.SIGINT)
    try:
        while part := os.read(terminal, 2**16):
            seen += part
    except OSError:  # the other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert seen.count(b"\x1b[?1049h") == seen.count(b"\x1b[?1049l") == 1  # the screen that it borrowed is given back
    assert b"\x1b[?25h" in seen
    assert b"Traceback" not in seen
