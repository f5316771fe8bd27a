"""A capability: what agents are given in one piece to be able to do something."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

from google.adk.agents.llm_agent import LlmAgent, ToolUnion
from google.adk.tools.base_toolset import BaseToolset

from oda.tools.addresses import Fields
from oda.tools.policy import ToolPolicy

T = TypeVar("T")

Setup = Callable[[LlmAgent], None]


@dataclass(frozen=True)
class Capability:
    """Instructions, and tools with the leave to use them. Without leave a tool is barred."""

    name: str
    instructions: str = ""
    """Added to the agent's instructions; `{name}` is filled in from the session's state."""
    tools: Sequence[ToolUnion | str] = ()
    """ADK tools, or names as in `capabilities.yaml`."""
    tool_policy: ToolPolicy = field(default_factory=ToolPolicy)
    """Policy for all tools of the agent."""
    untrusted: Sequence[str] = ()
    """Tools, by name or pattern, whose results contain untrusted text."""
    reaches: Fields = field(default_factory=dict)
    """Arguments that are addresses, by tool: see `oda.tools.addresses`."""
    finds: Fields = field(default_factory=dict)
    """Result fields under which a search returns addresses, by tool."""
    skills: Sequence[Path] = ()
    """Folders with a SKILL.md, or of such folders."""
    setup: Setup | None = None
    """Called once with each agent that has the capability, when it has been made."""
    where: str = ""
    """The file and key that it was read from, for error messages."""

    def merge(self, *others: "Capability") -> "Capability":
        """Return one capability with everything that these provide, in their order.

        The policies are merged by `ToolPolicy.merge`.
        """
        every = (self, *others)
        return Capability(
            name="+".join(one.name for one in every),
            instructions="\n\n".join(one.instructions for one in every if one.instructions),
            tools=_united(one.tools for one in every),
            tool_policy=self.tool_policy.merge(*(one.tool_policy for one in others)),
            untrusted=_united(one.untrusted for one in every),
            reaches=_joined(one.reaches for one in every),
            finds=_joined(one.finds for one in every),
            skills=_united(one.skills for one in every),
            setup=_InTurn(tuple(one.setup for one in every if one.setup is not None)),
        )


def tool_name(tool: ToolUnion) -> str | None:
    """The name under which a model sees a tool; None of a toolset, which has many."""
    if isinstance(tool, BaseToolset):
        return None
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", type(tool).__name__))


@dataclass(frozen=True)
class _InTurn:
    """Several set-ups as one."""

    setups: tuple[Setup, ...]

    def __call__(self, agent: LlmAgent) -> None:
        for setup in self.setups:
            setup(agent)


def _joined(all_fields: Iterable[Fields]) -> Fields:
    joined: dict[str, tuple[str, ...]] = {}
    for fields in all_fields:
        for tool, names in fields.items():
            joined[tool] = _united((joined.get(tool, ()), tuple(names)))
    return joined


def _united(lists: Iterable[Sequence[T]]) -> tuple[T, ...]:
    united: list[T] = []
    for one in chain.from_iterable(lists):
        if one not in united:
            united.append(one)
    return tuple(united)
