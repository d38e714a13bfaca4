"""Settings for every test."""

import os
import signal

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # a busy machine is no failure
settings.load_profile("unhurried")
torch.set_num_threads(1)  # the models here are tiny, and tests run side by side


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Whatever a test before this one did: CTranslate2 sets the number of the thread that it is called from."""
    torch.set_num_threads(1)


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell: tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # as under nohup: tests close the terminal
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In continuous integration nothing may be missing: a skipped test is a failure there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI"):
        return
    skipped = reporter.stats.get("skipped", [])
    if skipped:
        reporter.write_line(f"{len(skipped)} skipped with CI set: {skipped[0].nodeid}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
