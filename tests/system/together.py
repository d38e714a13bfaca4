"""A command on several ranks, started as torchrun starts them, but at once; the store is this process's."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from torch._C._distributed_c10d import TCPStore

from system.commands import NEVER, Moment, Result, Running, running


class Launch:
    """What torchrun is to the ranks: it lives on when they die, and starts them again."""

    def __init__(self) -> None:
        self.store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)

    @contextmanager
    def ranks(
        self, size: int, *arguments: str | Path, dies_at: int = NEVER, held_at: Moment | None = None
    ) -> Iterator[list[Running]]:
        """The command on so many ranks, running; the first, which does the writing, dies or is held there."""
        ways: list[tuple[int, Moment | None]] = [(dies_at, held_at), *[(NEVER, None)] * (size - 1)]
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    running(*arguments, dies_at=dies, held_at=held, environment=self._environment(number, size))
                )
                for number, (dies, held) in enumerate(ways)
            ]

    def run(self, size: int, *arguments: str | Path) -> list[Result]:
        """The same, to its end."""
        with self.ranks(size, *arguments) as commands:
            return [command.wait() for command in commands]

    def _environment(self, number: int, size: int) -> dict[str, str]:
        return {
            "RANK": str(number),
            "LOCAL_RANK": str(number),
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.store.port),
            "TORCHELASTIC_RUN_ID": "test",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }
