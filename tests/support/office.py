"""A team of four clerks, one of each kind, who pass on what begins with `to` and a name."""

import asyncio
import re

from oda.adapter import (
    AdkAgent,
    AgentAction,
    AgentInput,
    AgentOutput,
    AgentTeam,
    LangGraphAgent,
    PlainAgent,
    RemoteAgent,
    WorkflowState,
)
from tests.support.clerk import CLERK_GRAPH, PlainClerk, clerk_agent

_ONWARD = re.compile(r"\d+: to (\w+) (.+)")


class OfficeState(WorkflowState):
    """What the office keeps besides what every team does."""

    inputs: int = 0


class Office:
    """Where a test finds what it steers: one at a time in a process."""

    def __init__(self) -> None:
        self.reopen("")

    def reopen(self, remote_url: str) -> None:
        self.remote_url = remote_url
        self.teams = 0
        """How many have been made, each for one input."""
        self.filing_failures: list[Exception] = []
        """Raised by the step behind the team's, one each."""
        self.handed_over = asyncio.Event()
        """Set when a clerk has passed something on."""


office = Office()


def passed_on(reply: str) -> AgentOutput:
    """A clerk's reply as an output."""
    if found := _ONWARD.fullmatch(reply):
        office.handed_over.set()
        return AgentOutput(action=AgentAction.HANDOFF, next_agent=found[1], content=found[2])
    return AgentOutput(action=AgentAction.WAIT_INPUT, content=reply)


class Desk(PlainClerk):
    """The clerk to whom everybody comes first."""

    def say(self, reply: str) -> AgentOutput:
        return passed_on(reply)


def make_team() -> AgentTeam:
    """The four, new."""
    office.teams += 1
    desk = PlainAgent(Desk, method="step", name="desk")
    adk = AdkAgent(clerk_agent(), name="adk", interpret=passed_on)
    graph = LangGraphAgent(
        CLERK_GRAPH,
        name="graph",
        from_graph=lambda values: passed_on(str(values["messages"][-1].text)),
    )
    remote = RemoteAgent(office.remote_url, name="remote", interpret=passed_on)
    return AgentTeam([desk, adk, graph, remote])


def told(text: str) -> AgentInput:
    """A text; `yes` and `no` answer questions."""
    if text in ("yes", "no"):
        return AgentInput(context={"confirmed": text == "yes"})
    return AgentInput(content=text)
