"""Run a command on several ranks as torchrun does, but faster: this process hosts the store."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from torch._C._distributed_c10d import TCPStore

from system.commands import NEVER, LineCount, Result, Running, running


class Launch:
    """Stands in for torchrun: outlives the ranks and can start them again."""

    def __init__(self) -> None:
        self.store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)

    @contextmanager
    def ranks(
        self, size: int, *arguments: str | Path, kill_at_write: int = NEVER, pause_at: LineCount | None = None
    ) -> Iterator[list[Running]]:
        """Start the command on `size` ranks; rank 0, which writes the files, is killed or paused."""
        faults: list[tuple[int, LineCount | None]] = [(kill_at_write, pause_at), *[(NEVER, None)] * (size - 1)]
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    running(*arguments, kill_at_write=kill, pause_at=pause, environment=self._environment(rank, size))
                )
                for rank, (kill, pause) in enumerate(faults)
            ]

    def run(self, size: int, *arguments: str | Path) -> list[Result]:
        """Run the command on `size` ranks to its end."""
        with self.ranks(size, *arguments) as commands:
            return [command.wait() for command in commands]

    def _environment(self, rank: int, size: int) -> dict[str, str]:
        return {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.store.port),
            "TORCHELASTIC_RUN_ID": "test",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }
