"""`oda serve`: where the server listens, and whether it may."""

import asyncio
import errno
import gc
import os
import socket
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from oda.cli.exit_code import ExitCode
from oda.cli.heap import give_large_blocks_back
from oda.cli.http_process import reload_on_change, run_server
from oda.cli.terminal import end_process, report, set_up_logging, silence_warnings
from oda.errors import ConfigurationError, UnavailableError
from oda.settings import Settings, is_loopback


def serve(*, reload: bool, **options: Any) -> ExitCode:
    """Serve until a signal ends it.

    Args:
        reload: Start again when a file of the agents or of the configuration changes.
        options: Fields of `Settings`; None for what the settings say.

    Raises:
        ConfigurationError: a setting or file is wrong, or the address is public.
        UnavailableError: the port is in use, or the database cannot be reached.
    """
    gc.disable()
    give_large_blocks_back()
    settings = _load(options)
    if settings.accept_only:
        _refuse_without_postgres("oda serve --accept-only", settings)
    with closing(_bind(settings)) as listener:
        if reload:
            _pass_on(options)
            reload_on_change(_serve_again, listener, [settings.agents_dir, settings.config_dir])
        else:
            _serve_on(settings, listener)
    return ExitCode.OK


def work(*, concurrency: int | None, **options: Any) -> ExitCode:
    """Run turns until a signal ends it.

    Args:
        concurrency: Maximum number of turns at a time; None for what the settings say.
        options: Fields of `Settings`; None for what the settings say.

    Raises:
        ConfigurationError: a setting or file is wrong, or the database is not PostgreSQL.
        UnavailableError: the port is in use, or the database cannot be reached.
    """
    gc.disable()
    give_large_blocks_back()
    if concurrency is not None:
        options["turn"] = {"concurrency": concurrency}
    settings = Settings.load(**options)
    set_up_logging(settings.log_level, settings.log_format)
    _refuse_without_postgres("oda worker", settings)
    with closing(_bind(settings)) as listener:
        from oda.server.worker import create_worker

        ready = f"oda worker is ready on {_url_of(settings, listener)}"
        run_server(
            create_worker(settings), listener, settings.limits, on_ready=lambda: _announce(ready)
        )
    return ExitCode.OK


def _refuse_without_postgres(what: str, settings: Settings) -> None:
    from oda.database.engine import is_postgres

    if not is_postgres(settings.resolved_database_url):
        raise ConfigurationError(
            f"`{what}` shares turns with other processes, which SQLite does not allow",
            remedy="set ODA_DATABASE_URL to postgresql://USER@HOST/NAME, or use `oda serve`, "
            "which runs turns itself",
        )


def _url_of(settings: Settings, listener: socket.socket) -> str:
    port: int = listener.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}"


def _serve_again(sockets: list[socket.socket]) -> None:
    """Serve in a process that was started because something has changed."""
    gc.disable()
    give_large_blocks_back()
    silence_warnings()
    code = ExitCode.OK
    try:
        _serve_on(_load({}), sockets[0])
    except Exception as error:
        code = report(error)
    end_process(code)


def _serve_on(settings: Settings, listener: socket.socket) -> None:
    from oda.server.app import create_app

    app = create_app(
        settings, dev_ui=settings.dev_ui, host=settings.host, rehearsed=settings.rehearse
    )
    url = _url_of(settings, listener)
    has_dev_ui = settings.dev_ui and is_loopback(settings.host)
    ready = f"oda is ready on {url}" + (f" (dev UI: {url}/dev-ui/)" if has_dev_ui else "")
    try:
        run_server(app, listener, settings.limits, on_ready=lambda: _announce(ready))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise _in_use(settings) from error


def _announce(ready: str) -> None:
    """Say that the server is ready, and keep the garbage collector from what has been loaded.

    A full collection looks at some hundred thousand objects that live as long as the process, and
    stops all sessions for as long as that takes (0.3 s). It is not worth it once, either: imports
    leave 2,000 objects of garbage.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()
    print(ready, flush=True)


def _load(options: Mapping[str, Any]) -> Settings:
    settings = Settings.load(**options)
    set_up_logging(settings.log_level, settings.log_format)
    if not (is_loopback(settings.host) or settings.insecure or _knows_who_asks(settings)):
        raise ConfigurationError(
            f"{settings.host!r} can be reached from other machines, and nobody would have to "
            "prove who they are",
            remedy="make a key with `oda keys create --user NAME`, listen on 127.0.0.1, "
            "or accept that with --insecure",
        )
    return settings


def _knows_who_asks(settings: Settings) -> bool:
    if settings.jwt.issuer is not None:
        return True
    from oda.cli.keys import any_key_configured

    return asyncio.run(any_key_configured(settings))


def _bind(settings: Settings) -> socket.socket:
    """A bound socket that does not listen yet, so that clients wait for a server that is ready."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _in_use(settings) from error
        raise UnavailableError(
            f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}",
            remedy="choose another with --host and --port",
        ) from error
    return listener


def _in_use(settings: Settings) -> UnavailableError:
    return UnavailableError(
        f"port {settings.port} on {settings.host} is in use",
        remedy="stop what listens there, or choose another with --port, 0 for a free one",
    )


def _pass_on(options: Mapping[str, Any]) -> None:
    """Leave the options to the processes that are started again."""
    for name, value in options.items():
        if value is not None:
            os.environ[f"ODA_{name.upper()}"] = str(value)
