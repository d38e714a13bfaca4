"""The models of a server: which there are, what they are asked, and how one takes the place of another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from itertools import chain, count
from pathlib import Path

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translation import Translation
from weft.serve.languages import Pair
from weft.serve.limits import Limits
from weft.serve.loaded import Loaded, Wished, load
from weft.serve.looking import Look
from weft.serve.manner import Manner
from weft.serve.metrics import Metrics
from weft.serve.order import Order, Tell
from weft.serve.refusal import RefusedError
from weft.serve.snapshot import remove_leftovers
from weft.store.place import fingerprint
from weft.text.sentences import Splitter

SELDOM = 60.0  # seconds: so often at least is a model tried again that could not be loaded
LOG = logging.getLogger("weft.serve")


class Served:
    """A model under its name. What is asked of it goes to the one that is loaded at that moment."""

    def __init__(self, name: str, path: Path, pair: Pair, wished: Wished, limits: Limits, metrics: Metrics):
        self.name, self.path, self.pair = name, path, pair
        self.splitter = Splitter(pair.source)
        self._wished, self._limits, self._metrics = wished, limits, metrics
        self._reloading = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._loaded = self._load()

    @property
    def told(self) -> str:
        """Which engine answers, and why."""
        return self._loaded.told

    @property
    def mark(self) -> str:
        """Equal for equal models."""
        return self._loaded.snapshot.mark

    @property
    def waiting(self) -> int:
        return self._loaded.waiting

    def put(self, requests: Sequence[Request], manner: Manner, tell: Tell | None = None) -> Order:
        """Accept these lines; a RefusedError if too many wait already."""
        order = Order(requests, manner, tell)
        self._loaded.put(order)
        self._metrics.characters.add(sum(len(one.text) for one in requests), {"model": self.name})
        return order

    async def finish(self, order: Order) -> list[Translation]:
        """The translations; a RefusedError if that takes too long."""
        try:
            return await order.wait(self._limits.seconds)
        except TimeoutError:
            raise RefusedError(
                504, f"It took longer than {self._limits.seconds} seconds: ask for less at once."
            ) from None

    async def translate(self, requests: Sequence[Request], manner: Manner) -> list[Translation]:
        return await self.finish(self.put(requests, manner))

    async def look(self, look: Look, manner: Manner) -> str:
        """What is seen inside, as JSON."""
        return await self._loaded.looking(look, manner)

    async def reload(self) -> None:
        """Load the model anew beside the old one, which finishes what it was asked; if that fails, it stays."""
        async with self._reloading:
            try:
                new = await asyncio.to_thread(self._load)
            except Exception:
                self._metrics.reloads.add(1, {"model": self.name, "outcome": "failed"})
                raise
            old, self._loaded = self._loaded, new
            self._metrics.reloads.add(1, {"model": self.name, "outcome": "done"})
            task = asyncio.create_task(asyncio.to_thread(old.close))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def other_mark(self) -> str | None:
        """Of another model in the folder than the one that answers; None if there is none."""
        try:
            mark = await asyncio.to_thread(fingerprint, self.path)
        except (UserError, OSError):
            return None  # it may be on its way
        return mark if mark != self.mark else None

    async def close(self) -> None:
        """Finish what was accepted."""
        async with self._reloading:
            await asyncio.gather(*self._closing, asyncio.to_thread(self._loaded.close))

    def leave(self) -> None:
        """Stop before anybody was answered."""
        self._loaded.close()

    def _load(self) -> Loaded:
        def watch(lines: int) -> None:
            self._metrics.batches.add(lines, {"model": self.name})

        return load(self.path, self._wished, self._limits, watch)


class Models:
    """All of them, the first one first."""

    def __init__(self, served: Sequence[Served]):
        self.all = tuple(served)

    @property
    def pairs(self) -> list[Pair]:
        return list(dict.fromkeys(one.pair for one in self.all))

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(pair.source for pair in self.pairs))

    def targets_of(self, source: str) -> list[str]:
        """The languages into which one can be translated."""
        return [pair.target for pair in self.pairs if pair.source == source]

    def sources_of(self, target: str) -> list[str]:
        """The languages from which one can be translated into another."""
        found = [pair.source for pair in self.pairs if pair.target == target]
        if not found:
            raise RefusedError(400, f"{target} is not supported")
        return found

    @property
    def codes(self) -> list[str]:
        """Every language that is read or written."""
        return list(dict.fromkeys(code for pair in self.pairs for code in pair))

    def between(self, pair: Pair) -> Served:
        """The first that translates from the one language into the other."""
        for code in pair:
            if code not in self.codes:
                raise RefusedError(400, f"{code} is not supported")
        for one in self.all:
            if one.pair == pair:
                return one
        raise RefusedError(400, f"{pair.target} is not available as a target language from {pair.source}")

    def named(self, name: str | None) -> Served:
        """The one of this name; the first, if none is named."""
        for one in self.all:
            if name in (None, one.name):
                return one
        raise RefusedError(404, f"there is no model {name!r}, but {', '.join(one.name for one in self.all)}")

    async def watch(self, seconds: float) -> None:
        """Look every so many seconds for a model that has changed in its folder, and load it."""
        await asyncio.gather(*(self._watch(one, seconds) for one in self.all))

    async def _watch(self, one: Served, seconds: float) -> None:
        """What cannot be loaded may still be on its way: it is tried again, ever less often, but told once."""
        pause, failed = seconds, ""
        while True:
            await asyncio.sleep(pause)
            mark = await one.other_mark()
            is_known = mark == failed
            if mark is None or await self._reload(one, logging.DEBUG if is_known else logging.WARNING) is None:
                pause, failed = seconds, ""
            else:
                pause, failed = min(2 * pause, SELDOM) if is_known else seconds, mark

    async def reload(self, served: Iterable[Served]) -> dict[str, str | None]:
        """For each, why it could not be loaded; None if it was."""
        return {one.name: await self._reload(one, logging.WARNING) for one in served}

    async def _reload(self, one: Served, level: int) -> str | None:
        """level: how loud to tell of a failure."""
        try:
            await one.reload()
        except UserError as error:
            LOG.log(level, "%s: the model stays as it was: %s", one.name, error)
            return str(error)
        except Exception as error:  # whatever it is, the old model goes on
            LOG.log(level, "%s: the model stays as it was", one.name, exc_info=error)
            return "a fault of the server"
        LOG.info("%s: loaded anew", one.name)
        return None

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self.all))


def load_all(paths: Sequence[Path], pairs: Sequence[Pair], wished: Wished, limits: Limits, metrics: Metrics) -> Models:
    """The models in these folders; if one cannot be loaded, none."""
    remove_leftovers()
    served: list[Served] = []
    try:
        for name, path, pair in zip(names_of(paths), paths, pairs, strict=True):
            served.append(Served(name, path, pair, wished, limits, metrics))
    except BaseException:
        for one in served:
            one.leave()
        raise
    return Models(served)


def names_of(paths: Sequence[Path]) -> list[str]:
    """What each is called: its folder; best and last, by the run that they are of. A name that is taken is numbered."""
    names: list[str] = []
    for path in paths:
        full = path.resolve()
        name = full.parent.name if full.name in ("best", "last") else full.name
        numbered = chain([name], (f"{name}-{number}" for number in count(2)))
        names.append(next(one for one in numbered if one not in names))
    return names
