"""The situation that a message meets: all that a decision depends on besides the words."""

from dataclasses import dataclass
from datetime import date

from mcp_tools.resume import Language, Resume

from .pending import Pending
from .understanding.focus import Focus


@dataclass(frozen=True, slots=True)
class Situation:
    """The resume, what is pending, and what the conversation is about.

    `language` counts for messages that have none; `undoable` edits can be taken back.
    """

    resume: Resume
    pending: tuple[Pending, ...]
    language: Language
    today: date
    focus: Focus | None = None
    undoable: int = 0

    @property
    def top(self) -> Pending | None:
        """The latest question to the person."""
        return self.pending[-1] if self.pending else None
