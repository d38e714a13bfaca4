"""Settings for every test: one thread, a temporary token cache, and no skipped tests in continuous integration."""

import os
import signal
from collections.abc import Iterator

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
    """Undo what an earlier test did: CTranslate2 sets the number of threads of the thread that calls it."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the token cache of the tests apart from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell: tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # as under nohup: tests close the terminal
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if CI is set and a test was skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI"):
        return
    skipped = reporter.stats.get("skipped", [])
    if skipped:
        reporter.write_line(f"{len(skipped)} skipped with CI set: {skipped[0].nodeid}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
