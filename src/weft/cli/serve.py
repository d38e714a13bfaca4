"""`weft serve`: serve models over HTTP."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import BackendOption, BeamOption, DeviceOption, PrecisionOption
from weft.core.errors import UserError
from weft.core.extras import require_extra

if TYPE_CHECKING:
    from weft.data.languages import LanguagePair

LOCAL_ADDRESSES = ("127.0.0.1", "localhost", "::1")
RELOAD_SECONDS = 2.0


def serve(
    models: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders or model folders.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any free one.")] = 5000,
    allowed_host_names: Annotated[
        list[str] | None, typer.Option("--allowed-host", metavar="NAME", help="A host name to answer to. Repeatable.")
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE:CODE",
            help="The languages of a model, such as en:de, for each RUN. Default: those that it was trained with.",
        ),
    ] = None,
    api_keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of API keys, one per line, that requests must have.")
    ] = None,
    reload: Annotated[bool, typer.Option("--reload", help="Load new models when a folder changes.")] = False,
    training: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="A run to show on the page /training. Repeatable.")
    ] = None,
    limits: Annotated[
        list[str] | None, typer.Option("--limit", metavar="NAME=N", help="Change a limit, such as characters=5000.")
    ] = None,
    beam: BeamOption = None,
    backend: BackendOption = "auto",
    precision: PrecisionOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Serve one or more models over HTTP, with the LibreTranslate API and more."""
    require_extra("serve", "weft serve")
    from weft.serve.auth import ApiKeys, allowed_hosts, parse_host_names, read_api_keys
    from weft.serve.limits import parse_limits
    from weft.visualize.run_monitor import monitor_runs

    models, training = models or [], training or []
    if not models and not training:
        raise UserError(
            "There is nothing to serve. Use weft serve RUN... for models, --training RUN for a training run."
        )
    keys = ApiKeys() if api_keys is None else read_api_keys(api_keys)
    server_limits, names = parse_limits(limits or []), parse_host_names(allowed_host_names or [])
    if beam is not None and beam > server_limits.beam:
        raise UserError(f"--beam {beam}: exceeds --limit beam={server_limits.beam}: raise the limit, or lower the beam")
    pairs, monitor = _language_pairs(models, languages), monitor_runs(training)

    from weft.inference.backends import BackendOptions
    from weft.serve.dependencies import ServerContext
    from weft.serve.middleware import ServerMetrics
    from weft.serve.model_pool import load_model_pool
    from weft.serve.server import open_listener, run_server
    from weft.serve.training_status import TrainingStatus

    metrics = ServerMetrics()
    with open_listener(host, port, server_limits) as listener:
        options = BackendOptions(backend, precision, beam, (), device=device)
        pool = load_model_pool(models, pairs, options, server_limits, metrics)
        if not keys and host not in LOCAL_ADDRESSES:
            print(
                f"weft: anyone who reaches {host} can use this server: --api-keys FILE requires keys", file=sys.stderr
            )
        hosts = allowed_hosts(host, listener.getsockname()[0], names)
        context = ServerContext(pool, server_limits, keys, metrics, TrainingStatus(monitor))
        run_server(context, listener, hosts, RELOAD_SECONDS if reload else None)


def _language_pairs(models: list[Path], languages: list[str] | None) -> "list[LanguagePair]":
    """The languages of each model, from --languages or from its recipe."""
    from weft.data.languages import parse_language_pair

    if languages is None:
        return list(map(_languages_in_model, models))
    if len(languages) != len(models):
        raise UserError(f"--languages is used {len(languages)} times for {len(models)} models: use it once for each")
    return [parse_language_pair(pair) for pair in languages]


def _languages_in_model(path: Path) -> "LanguagePair":
    from weft.checkpoints.model_folder import read_model_folder

    pair = read_model_folder(path).languages
    if pair is None:
        raise UserError(
            f"{path}: the languages of this model are not known. Add --languages en:de, once for each model, or train "
            "it with --languages. Only models that translate text can be served."
        )
    return pair
