"""Tool policy of an agent. A pure decision; tools that are not allowed are barred."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, Self, assert_never

from oda.config.records import ToolPolicyRecord

EntryMode = Literal["interactive", "automated"]
"""How a run began: a person has written and may be asked, or a schedule or a program has."""

Decision = Literal["allowed", "confirm", "barred"]


class ToolPolicy(ToolPolicyRecord):
    """Lists of the names of tools, or of patterns such as `read_*`; upper and lower case differ."""

    def decide(self, tool: str, mode: EntryMode) -> Decision:
        """Decide about a call of `tool` in a run with this entry mode.

        `confirm`: a person must approve it first. A tool that is only listed in
        `require_confirmation` is barred, like any tool that is not allowed.
        """
        if not _names(self._allowed(mode), tool):
            return "barred"
        return "confirm" if _names(self.require_confirmation, tool) else "allowed"

    def merge(self, *others: ToolPolicyRecord) -> Self:
        """All grants and all wishes for confirmation together.

        So a tool is barred if every one of them bars it, and is confirmed if any of them wants
        that: a merge never takes a confirmation away, and lets through what one of them lets
        through. Patterns hold for the tools of all; therefore name tools where you can.
        """
        lists = {
            name: _united(getattr(one, name) for one in (self, *others))
            for name in ToolPolicyRecord.model_fields
        }
        return self.model_copy(update=lists)

    def _allowed(self, mode: EntryMode) -> tuple[str, ...]:
        match mode:
            case "interactive":
                return self.allow + self.allow_interactive
            case "automated":
                return self.allow + self.allow_automated
            case _:
                assert_never(mode)


def _names(patterns: Iterable[str], tool: str) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)


def _united(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern for patterns in lists for pattern in patterns))
