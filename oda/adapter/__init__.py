"""Agents from elsewhere behind one protocol: plain Python, ADK, LangGraph, remote A2A agents.

    agent = AdkAgent(LlmAgent(...))     # or PlainAgent, LangGraphAgent, RemoteAgent
    async for item in agent.stream(AgentInput(content="hi"), state):
        ...                             # AgentMessages, then the AgentOutput

    team = AgentTeam([PlainAgent(plan), LangGraphAgent(graph), RemoteAgent(url, name="editor")])

Names are loaded when they are first used; LangGraph and A2A need the extras `langgraph` and `a2a`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oda.adapter.adk import AdkAgent as AdkAgent
    from oda.adapter.base import Adapter as Adapter
    from oda.adapter.langgraph import LangGraphAgent as LangGraphAgent
    from oda.adapter.plain import PlainAgent as PlainAgent
    from oda.adapter.protocol import Agent as Agent
    from oda.adapter.protocol import AgentAction as AgentAction
    from oda.adapter.protocol import AgentInput as AgentInput
    from oda.adapter.protocol import AgentMessage as AgentMessage
    from oda.adapter.protocol import AgentOutput as AgentOutput
    from oda.adapter.protocol import AgentStream as AgentStream
    from oda.adapter.remote import RemoteAgent as RemoteAgent
    from oda.adapter.team import AgentTeam as AgentTeam
    from oda.adapter.team import WorkflowState as WorkflowState

_HOMES = {
    "Adapter": "base",
    "AdkAgent": "adk",
    "Agent": "protocol",
    "AgentAction": "protocol",
    "AgentInput": "protocol",
    "AgentMessage": "protocol",
    "AgentOutput": "protocol",
    "AgentStream": "protocol",
    "AgentTeam": "team",
    "LangGraphAgent": "langgraph",
    "PlainAgent": "plain",
    "RemoteAgent": "remote",
    "WorkflowState": "team",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"oda.adapter.{_HOMES[name]}"), name)
