"""The possible decisions after a message, between which `decide` chooses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from mcp_tools.resume import Language

from .pending import Pending
from .understanding.recognition import Recognition

ToolName = Literal[
    "CVReader",
    "CVEditor",
    "CVUndo",
    "CVExport",
    "CVDiagnose",
    "CVFile",
    "CVImport",
    "CVFit",
    "CVTranslate",
    "CVWrite",
]
Reason = Literal["long", "creative", "advice", "unknown"]


class ToolCall(BaseModel):
    """A call of one of the agent's tools."""

    model_config = ConfigDict(frozen=True)

    name: ToolName
    params: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the person; `topic` is a phrase, `details` fill it."""

    topic: str
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Act:
    """Call tools, one after the other; `then` ask about the rest of the message."""

    calls: tuple[ToolCall, ...]
    then: Ask | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """Answer without a tool; `topic` is a phrase, `details` fill it."""

    topic: str
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Defer:
    """Leave the message to the model, and why."""

    reason: Reason


Decision = Act | Ask | Say | Defer


@dataclass(frozen=True, slots=True)
class Step:
    """A decision, and what is pending afterwards."""

    decision: Decision
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, what was understood, what is pending afterwards, and the language to speak."""

    decision: Decision
    recognition: Recognition
    pending: tuple[Pending, ...]
    language: Language
