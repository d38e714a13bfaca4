"""weft serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.engines import EngineOption, PrecisionOption
from weft.cli.options import Beam, Device
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.serve.languages import Pair

LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    models: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders or model folders.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: one that is free.")] = 5000,
    host_names: Annotated[
        list[str] | None,
        typer.Option("--host-name", metavar="NAME", help="Answer to this name too, as to a proxy's. May be repeated."),
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE:CODE", help="What a model translates, as en:de; one for each RUN, in their order."),
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="API keys, one a line, of which a request has to have one.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="When another model is in a folder, load it and answer with it.")
    ] = False,
    training: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="A run whose training the page at /training shows. May be repeated."),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=N", help="Change a limit, as characters=5000. May be repeated."),
    ] = None,
    beam: Beam = None,
    engine: EngineOption = "auto",
    precision: PrecisionOption = None,
    device: Device = "auto",
) -> None:
    """Answer requests over HTTP with one or several models, as LibreTranslate does and more."""
    from weft.serve.hosts import hosts_of, read_names
    from weft.serve.keys import Keys, read_keys
    from weft.serve.limits import read_limits
    from weft.serve.loaded import Wished
    from weft.watching.run import watch_all

    if not models and not training:
        raise UserError("Say what to serve: weft serve RUN... for models, --training RUN for how a run trains.")
    known = Keys() if keys is None else read_keys(keys)
    bounds, names = read_limits(limits or []), read_names(host_names or [])
    if beam is not None and beam > bounds.beam:
        raise UserError(f"--beam {beam}: is more than --limit beam={bounds.beam}: raise the limit, or ask for less")
    pairs, watched = pairs_of(models or [], languages), watch_all(training or [])

    from weft.serve.app import Api
    from weft.serve.metrics import Metrics
    from weft.serve.run import listening
    from weft.serve.run import serve as run
    from weft.serve.served import load_all
    from weft.serve.training import Training

    metrics = Metrics()
    with listening(host, port) as listener:
        loaded = load_all(models or [], pairs, Wished(engine, precision, beam, device), bounds, metrics)
        if not known and host not in LOCAL:
            print(f"weft: whoever reaches {host} may ask: --keys FILE would ask for a key", file=sys.stderr)
        hosts = hosts_of(host, listener.getsockname()[0], names)
        run(Api(loaded, bounds, known, metrics, Training(watched)), listener, hosts, 2.0 if watch else None)


def pairs_of(models: list[Path], languages: list[str] | None) -> list[Pair]:
    """The languages of each model: as they are given, or as its recipe tells."""
    from weft.export.described import read_described
    from weft.serve.languages import pair_of, read_pair

    if languages is not None and len(languages) != len(models):
        raise UserError(f"--languages is given {len(languages)} times, for {len(models)} models: give it once for each")
    if languages is not None:
        return [read_pair(one) for one in languages]
    return [pair_of(read_described(path).config, str(path)) for path in models]
