"""Stateful multi-agent applications on Google ADK, in production.

Names are loaded when they are first used, so that `import oda` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oda.agent.create_agent import create_agent as create_agent
    from oda.agent.document_app import DocumentApp as DocumentApp
    from oda.agent.limits import TurnLimits as TurnLimits
    from oda.agent.manager import OdaAgentManager as OdaAgentManager
    from oda.agent.model.configured import configured_model as configured_model
    from oda.agent.model.registry import model_configured as model_configured
    from oda.agent.oda_agent import OdaAgent as OdaAgent
    from oda.agent.prompt import Prompt as Prompt
    from oda.agent.retry import RetryPolicy as RetryPolicy
    from oda.agent.run_limits import Deliverable as Deliverable
    from oda.agent.run_limits import RunLimits as RunLimits
    from oda.agent.runner import Runner as Runner
    from oda.application_database import ApplicationDatabase as ApplicationDatabase
    from oda.application_resource import ApplicationResource as ApplicationResource
    from oda.context import OdaContext as OdaContext
    from oda.database.migrate import Schema as Schema
    from oda.errors import FatalToolError as FatalToolError
    from oda.errors import OdaError as OdaError
    from oda.message.reply import Reply as Reply
    from oda.session.manager import OdaSessionManager as OdaSessionManager
    from oda.session.oda_session import OdaSession as OdaSession
    from oda.settings import Settings as Settings
    from oda.tools.addresses import finds as finds
    from oda.tools.addresses import reaches as reaches
    from oda.tools.capability import Capability as Capability
    from oda.tools.gate import ToolHooks as ToolHooks
    from oda.tools.hooks import InterruptCheck as InterruptCheck
    from oda.tools.hooks import LogToolCalls as LogToolCalls
    from oda.tools.hooks import ToolCallContext as ToolCallContext
    from oda.tools.hooks import ToolHook as ToolHook
    from oda.tools.idempotency import idempotency_key as idempotency_key
    from oda.tools.idempotency import idempotent as idempotent
    from oda.tools.mcp import mcp_toolset as mcp_toolset
    from oda.tools.policy import ToolPolicy as ToolPolicy
    from oda.tools.untrusted import untrusted as untrusted
    from oda.turn.record import Turn as Turn
    from oda.workspace.sandbox.reading import read_apart as read_apart

_HOMES = {
    "ApplicationDatabase": "oda.application_database",
    "ApplicationResource": "oda.application_resource",
    "Capability": "oda.tools.capability",
    "Deliverable": "oda.agent.run_limits",
    "DocumentApp": "oda.agent.document_app",
    "FatalToolError": "oda.errors",
    "InterruptCheck": "oda.tools.hooks",
    "LogToolCalls": "oda.tools.hooks",
    "OdaAgent": "oda.agent.oda_agent",
    "OdaAgentManager": "oda.agent.manager",
    "OdaContext": "oda.context",
    "OdaError": "oda.errors",
    "OdaSession": "oda.session.oda_session",
    "OdaSessionManager": "oda.session.manager",
    "Prompt": "oda.agent.prompt",
    "Reply": "oda.message.reply",
    "RetryPolicy": "oda.agent.retry",
    "RunLimits": "oda.agent.run_limits",
    "Runner": "oda.agent.runner",
    "Schema": "oda.database.migrate",
    "Settings": "oda.settings",
    "ToolCallContext": "oda.tools.hooks",
    "ToolHook": "oda.tools.hooks",
    "ToolHooks": "oda.tools.gate",
    "ToolPolicy": "oda.tools.policy",
    "Turn": "oda.turn.record",
    "TurnLimits": "oda.agent.limits",
    "configured_model": "oda.agent.model.configured",
    "create_agent": "oda.agent.create_agent",
    "finds": "oda.tools.addresses",
    "idempotency_key": "oda.tools.idempotency",
    "idempotent": "oda.tools.idempotency",
    "mcp_toolset": "oda.tools.mcp",
    "model_configured": "oda.agent.model.registry",
    "reaches": "oda.tools.addresses",
    "read_apart": "oda.workspace.sandbox.reading",
    "untrusted": "oda.tools.untrusted",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
