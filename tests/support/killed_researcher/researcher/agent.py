"""The researcher, in a process that dies where `tests.support.killing_statement` is armed."""

from agents.researcher.agent import app, root_agent
from tests.support.killing_statement import listen

__all__ = ["app", "root_agent"]

listen()
