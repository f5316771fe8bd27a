"""`oda chaos`: what of an app survives when its processes are killed and its parts cut off."""

import asyncio
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import httpx
import psycopg
import yaml
from dotenv import dotenv_values
from rich.console import Console
from rich.markup import escape
from sqlalchemy.engine import make_url

from oda.cli.chaos.drill import Drill, Phase, Plan
from oda.cli.chaos.place import Place
from oda.cli.chaos.processes import open_fork_server
from oda.cli.chaos.promises import PROMISES
from oda.cli.chaos.relay import Relay, open_relay
from oda.cli.exit_code import ExitCode
from oda.cli.terminal import load_settings
from oda.config import load_configuration
from oda.config.records import StdioMcpServerRecord
from oda.database.engine import is_postgres
from oda.database.listener import libpq_url
from oda.errors import AgentNotFoundError, ConfigurationError
from oda.settings import Settings
from oda.testing import ModelServer
from oda.testing.script import Script

_TEXTS = ("Hello", "What can you do?", "Thank you")
_UNLIMITED = {
    "ODA_LIMITS__REQUESTS_PER_MINUTE": "1000000",
    "ODA_LIMITS__TURNS_AT_ONCE": "1000",
    "ODA_TURN__MAX_RECOVERIES": "1000000",
}
_ELSEWHERE = {
    "agents_dir",
    "config_dir",
    "data_dir",
    "database_url",
    "host",
    "jwt",
    "limits",
    "listen_url",
    "mcp_pins",
    "port",
    "session_service",
    "workspace",
}
"""Settings that would lead a drill to real data, or keep its clients out."""
_SHOWN_FAULTS = 20


@dataclass(frozen=True)
class Options:
    """Arguments of the command."""

    app: str
    agents_dir: Path | None
    texts: Sequence[str]
    kills: int
    servers: int
    workers: int
    database: str | None
    """URL of a PostgreSQL server on which a database is made, and dropped at the end."""
    script: Path | None
    """Script of a built-in model that answers instead of the configured one."""
    seed: int | None
    as_json: bool


def chaos(options: Options) -> ExitCode:
    """Run a drill in a temporary directory and database; print what held.

    Raises:
        ConfigurationError: a setting is wrong, or several processes are asked for on SQLite.
        UnavailableError: a process cannot be started.
    """
    return asyncio.run(_chaos(options))


async def _chaos(options: Options) -> ExitCode:
    settings = load_settings(agents_dir=options.agents_dir)
    if options.database is None and (options.servers > 1 or options.workers):
        raise ConfigurationError(
            "several processes cannot share SQLite",
            remedy="name a PostgreSQL server with --database postgresql://USER@HOST/NAME",
        )
    if options.database is not None and not is_postgres(options.database):
        raise ConfigurationError(
            f"{options.database!r} is not a PostgreSQL URL",
            remedy="name one as postgresql://USER@HOST/NAME, or leave --database out for SQLite",
        )
    seed = options.seed if options.seed is not None else Random().randrange(10**6)
    plan = Plan(texts=options.texts or _TEXTS, kills=options.kills, seed=seed)
    console = Console(highlight=False, quiet=options.as_json)
    console.print(f"seed {seed}; each line is one kind of fault and what was seen after it")
    phases = []
    async with AsyncExitStack() as stack:
        drill = await _drill(options, settings, plan, stack)
        async for phase in drill.run():
            phases.append(phase)
            _show(console, phase)
    broken = [fault for phase in phases for fault in phase.broken]
    if options.as_json:
        found = [asdict(phase) for phase in phases]
        print(json.dumps({"ok": not broken, "seed": seed, "phases": found}, ensure_ascii=False))
    console.print()
    for promise, text in PROMISES.items():
        times = sum(fault.promise == promise for fault in broken)
        seen = f"broken {times} times" if times else "held"
        console.print(f"{promise}  {seen}: {text}", soft_wrap=True)
    return ExitCode.FAILED if broken else ExitCode.OK


async def _drill(options: Options, settings: Settings, plan: Plan, stack: AsyncExitStack) -> Drill:
    """Start everything, to be closed by `stack`, and return the drill."""
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oda-chaos-")))
    without_caches = shutil.ignore_patterns("__pycache__", ".*")
    agents = directory / settings.agents_dir.resolve().name  # which is the app's, if it has one
    shutil.copytree(settings.agents_dir, agents, ignore=without_caches)
    _copy_configuration(settings.config_dir, directory / "config")
    environment = _environment() | _UNLIMITED
    url, database = None, None
    if options.database is not None:
        url = await stack.enter_async_context(own_database(options.database))
        database, environment["ODA_DATABASE_URL"] = await _relayed(url, stack)
    model = await _model(options, settings, environment, stack)
    place = Place(
        await stack.enter_async_context(open_fork_server(directory)),
        directory,
        agents=agents,
        app=options.app,
        database_url=url,
        environment=environment,
    )
    stack.push_async_callback(place.close)
    accept_only = {"ODA_ACCEPT_ONLY": "true"} if options.workers else {}
    for _ in range(options.servers):
        await place.server(**accept_only).start()
    for _ in range(options.workers):
        await place.worker().start()
    await _refuse_unknown(options.app, place.servers[0].url)
    return Drill(place, plan, model=model, database=database, mcp=_mcp_commands(settings))


def _copy_configuration(source: Path, target: Path) -> None:
    """Copy the configuration, without settings that lead to real data."""
    target.mkdir()
    for file in source.glob("*.yaml"):
        content = yaml.safe_load(file.read_bytes()) or {}
        if file.name == "oda.yaml":
            content = {name: value for name, value in content.items() if name not in _ELSEWHERE}
        (target / file.name).write_text(yaml.safe_dump(content))


def _environment() -> dict[str, str]:
    """Return the variables that the user has set, without those that lead to real data."""
    given = {**dotenv_values(".env"), **os.environ}
    return {
        name: value
        for name, value in given.items()
        if value is not None
        and (name.startswith("ODA_") or "API_KEY" in name)
        and name.removeprefix("ODA_").partition("__")[0].lower() not in _ELSEWHERE
    }


async def _refuse_unknown(app: str, url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        apps = {one["name"]: one for one in (await client.get("/v1/apps")).json()["apps"]}
    if app not in apps or apps[app].get("error"):
        usable = ", ".join(name for name, one in apps.items() if not one.get("error"))
        raise AgentNotFoundError(
            f"There is no agent {app!r} that can be loaded.", remedy=f"there are: {usable}"
        )


@asynccontextmanager
async def own_database(server: str) -> AsyncIterator[str]:
    """Make a database on a server, and drop it at the end."""
    name = f"oda_chaos_{uuid.uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(libpq_url(server), autocommit=True) as admin:
        await admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            url = make_url(server).set(database=name, drivername="postgresql+psycopg")
            yield url.render_as_string(hide_password=False)
        finally:
            await admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def _model(
    options: Options, settings: Settings, environment: dict[str, str], stack: AsyncExitStack
) -> Relay | None:
    """Return a relay in front of the default model; None if that is reached by TLS."""
    if options.script is not None or settings.model is None:
        script = _script(options.script) if options.script else Script()
        server = await stack.enter_async_context(ModelServer(script))
        environment |= {"ODA_MODEL": "gemini-chaos", "ODA_MODEL_API_BASE": server.url}
    base = environment.get("ODA_MODEL_API_BASE") or settings.model_api_base
    if base is None or not base.startswith("http://"):
        return None
    relay, environment["ODA_MODEL_API_BASE"] = await _relayed(base, stack)
    return relay


def _script(file: Path) -> Script:
    try:
        return Script.model_validate_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the script {str(file)!r} cannot be read: {error}",
            remedy='write one as {"steps": [{"type": "text", "text": "Hello", "times": null}]}',
        ) from error


async def _relayed(url: str, stack: AsyncExitStack) -> tuple[Relay, str]:
    """Open a relay to a server; return it, and the URL that leads through it."""
    parsed = urlsplit(url)
    port = parsed.port or (5432 if parsed.scheme.startswith("postgres") else 80)
    relay = await stack.enter_async_context(open_relay(parsed.hostname or "127.0.0.1", port))
    user, at, _ = parsed.netloc.rpartition("@")
    return relay, parsed._replace(netloc=f"{user}{at}127.0.0.1:{relay.port}").geturl()


def _mcp_commands(settings: Settings) -> list[str]:
    """Return what the command lines of the configured MCP servers contain."""
    servers = load_configuration(settings.config_dir).mcp_servers.values()
    return [
        " ".join((Path(server.command).name, *server.args)).removeprefix("python ")
        for server in servers
        if isinstance(server, StdioMcpServerRecord) and server.enabled
    ]


def _show(console: Console, phase: Phase) -> None:
    seen = "ok" if not phase.broken else f"[red]{len(phase.broken)} broken promises[/red]"
    errors = [f"{times} failed with {error}" for error, times in phase.errors.items()]
    note = escape("; ".join(filter(None, [phase.note, *errors])))
    console.print(
        f"{phase.name:<20} {phase.times:>5} times  {phase.messages:>6} messages  "
        f"{phase.seconds:>5.0f} s  {seen}  [dim]{note}[/dim]",
        soft_wrap=True,
    )
    for fault in phase.broken[:_SHOWN_FAULTS]:
        console.print(f"    {escape(str(fault))}", soft_wrap=True)
