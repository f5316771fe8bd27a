"""The checks of `oda doctor`: each yields findings with a remedy."""

import asyncio
import os
import platform
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Literal

from oda.agent.description import models_of
from oda.agent.model.configured import ConfiguredModel
from oda.agent.model.own_models import missing_key
from oda.agent.model.providers import missing_key as key_variable
from oda.config import load_configuration, resolve_secrets
from oda.config.records import ModelRecord
from oda.context import OdaContext, context_without_database
from oda.database.database import open_database
from oda.database.migrate import ODA_SCHEMA, current_revision
from oda.errors import AgentLoadError, ConfigurationError, OdaError
from oda.server.agent_routes import load_routes
from oda.session.services import open_services
from oda.setting_names import unknown_settings
from oda.settings import Settings
from oda.tools.mcp import McpStatus
from oda.turn.reader import TurnReader
from oda.workspace.sandbox.sandbox import Report

Status = Literal["ok", "warn", "fail"]

_EXTRAS = {"redis": "sessions in Redis", "anthropic": "ADK's own Anthropic models"}
_DATABASE_LIMIT_S = 15.0
_DATABASE_REMEDY = "check ODA_DATABASE_URL, ODA_SESSION_SERVICE and that the server is running"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    status: Status
    check: str
    """The checked part, such as `agent cv`."""
    detail: str
    remedy: str | None = None


def failed(check: str, error: OdaError) -> Finding:
    """The finding for an error."""
    return Finding("fail", check, error.message, error.remedy)


async def examine(settings: Settings) -> AsyncGenerator[Finding, None]:
    """Yield the findings of all checks that these settings allow, dependencies first."""
    versions = f"oda {version('oda')}, google-adk {version('google-adk')}"
    yield Finding("ok", "installation", f"{versions}, Python {platform.python_version()}")
    folders = f"agents in {settings.agents_dir}, data in {settings.data_dir}"
    yield Finding("ok", "settings", folders)
    for extra in _extras():
        yield extra
    yield await _database(settings)
    try:
        load_configuration(settings.config_dir)
    except ConfigurationError as error:
        yield failed("configuration", error)
        return
    files = ", ".join(sorted(path.name for path in settings.config_dir.glob("*.yaml")))
    yield Finding("ok", "configuration", f"{settings.config_dir}: {files or 'no files'}")
    try:
        async with context_without_database(settings) as oda:
            async for finding in _definitions(oda):
                yield finding
            for finding in await _waiting(settings, oda):
                yield finding
    except ConfigurationError as error:
        yield failed("agents", error)


async def _definitions(oda: OdaContext) -> AsyncGenerator[Finding, None]:
    names = oda.definitions.names()
    if not names:
        yield Finding(
            "warn",
            "agents",
            f"no agent in {str(oda.settings.agents_dir)!r}",
            "name the folder with --agents DIR or ODA_AGENTS_DIR",
        )
    for name in names:
        yield await asyncio.to_thread(_agent, oda, name)
    for unknown in unknown_settings():
        yield Finding("warn", f"setting {unknown.name}", unknown.reason, unknown.remedy)
    if oda.models.record("default") is None:
        yield Finding(
            "warn",
            "model",
            "none is configured: only what works by rules is answered",
            "set ODA_MODEL and the provider's key",
        )
    for record in oda.models.configured:
        yield await asyncio.to_thread(_model, record, oda.settings)
    yield _sandbox(await oda.sandboxes.report())
    servers = oda.configuration.current().mcp_servers
    for status in await asyncio.gather(*map(oda.mcp.check, servers)):
        yield _mcp_server(status)


def _extras() -> Iterator[Finding]:
    for name, purpose in _EXTRAS.items():
        detail = "installed" if find_spec(name) else f"not installed; only needed for {purpose}"
        yield Finding("ok", f"extra {name}", detail)


async def _database(settings: Settings) -> Finding:
    try:
        async with (
            asyncio.timeout(_DATABASE_LIMIT_S),
            open_database(settings.resolved_database_url) as database,
            open_services(settings, database) as services,
        ):
            await database.ping()
            await services.ping()
            return Finding("ok", "sessions", type(services.session).__name__)
    except OdaError as error:
        return failed("sessions", error)
    except Exception as error:
        slow = isinstance(error, TimeoutError)
        detail = f"no answer in {_DATABASE_LIMIT_S:g} s" if slow else str(error)
        return Finding("fail", "sessions", detail, _DATABASE_REMEDY)


async def _waiting(settings: Settings, oda: OdaContext) -> list[Finding]:
    """Return a finding for each app or version that turns wait for, and that is not here."""
    here = {name: (await oda.definitions.version(name)).name for name in oda.definitions.names()}
    try:
        async with (
            asyncio.timeout(_DATABASE_LIMIT_S),
            open_database(settings.resolved_database_url) as database,
        ):
            if await current_revision(database.engine) != ODA_SCHEMA.revision:
                return []
            waiting = await TurnReader(database).waiting_by_version()
    except Exception:  # the check of the sessions says so
        return []
    return [
        Finding(
            "warn",
            f"turns of {one.app}",
            f"{one.turns} of them wait for "
            + (f"version {one.version}" if one.version else "this app")
            + f"; here is {here.get(one.app, 'none')}",
            "start a process that has it, or cancel them: oda turns list, oda turns cancel ID",
        )
        for one in waiting
        if here.get(one.app) is None or one.version not in (None, here[one.app])
    ]


def _agent(oda: OdaContext, name: str) -> Finding:
    try:
        definition = oda.definitions.get(name)
        oda.agents.policy(name)
        load_routes(oda.definitions, name)
    except AgentLoadError as error:
        return Finding(
            "fail", f"agent {name}", error.message, "correct it; ODA_LOG_LEVEL=error shows where"
        )
    except ConfigurationError as error:
        return failed(f"agent {name}", error)
    for model in models_of(definition):
        if isinstance(model, ConfiguredModel) and _is_checked(oda, model.model):
            continue
        if keyless := missing_key(model, oda.models):
            return failed(f"agent {name}", keyless)
    return Finding("ok", f"agent {name}", definition.description or "no description")


def _is_checked(oda: OdaContext, name: str) -> bool:
    """Return whether a name is that of a configured model, which has a finding of its own."""
    return oda.models.record(name) in oda.models.configured


def _model(record: ModelRecord, settings: Settings) -> Finding:
    check = f"model {record.model}"
    try:
        if record.api_key:
            resolve_secrets(record.api_key, os.environ, where="models.yaml")
        missing = key_variable(record, settings)
    except ConfigurationError as error:
        return failed(check, error)
    if missing:
        return Finding("fail", check, "its key is missing", f"set ODA_MODEL_API_KEY or {missing}")
    return Finding("ok", check, f"at {record.api_base}" if record.api_base else "has its key")


def _sandbox(report: Report) -> Finding:
    if not report.available:
        return Finding("warn", "sandbox", f"code is not run: {report.reason}", report.remedy)
    weak = f"; but: {', '.join(report.weaknesses)}" if report.weaknesses else ""
    status: Status = "warn" if report.sandbox == "unsafe-subprocess" else "ok"
    return Finding(status, "sandbox", f"{report.sandbox}: {report.reason}{weak}")


def _mcp_server(status: McpStatus) -> Finding:
    check = f"MCP server {status.server}"
    match status.state:
        case "unavailable":
            remedy = "see config/mcp.yaml, and start the server by hand"
            return Finding("fail", check, status.detail or "does not answer", remedy)
        case "changed":
            remedy = f"read what has changed, and approve it: oda mcp approve {status.server}"
            return Finding("warn", check, status.detail or "its tools have changed", remedy)
        case "disabled":
            return Finding("ok", check, "switched off")
        case "ready" if status.detail:
            return Finding("warn", check, status.detail, "correct config/mcp.yaml")
        case "ready":
            return Finding("ok", check, f"{len(status.tools)} tools: {', '.join(status.tools)}")
