"""Parsing of messages to the coach: words, an initial resume, or the answer to a draft.

The last two are JSON, so that any interface can carry them: `{"resume": …, "intent"?}`, or a bare
JSON Resume with words around it, if it was pasted; `{"confirm": bool, "edits"?: {path: value}}`.
"""

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcp_tools.resume import SECTIONS
from oda.message.storable import storable

PathValues = Annotated[
    dict[str, Any],
    Field(
        max_length=100,
        description="Other values than the draft's, by their paths: `work[0].summary`",
    ),
]


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    def as_text(self) -> str:
        """The message as it is sent to the agent."""
        return json.dumps(storable(self.model_dump(exclude_none=True)), ensure_ascii=False)


class Start(_Sent):
    """A resume, and what the person wants of it."""

    resume: Annotated[dict[str, Any], Field(description="A JSON Resume document")]
    intent: Annotated[str, Field(max_length=4000)] = ""
    job: Annotated[
        str, Field(max_length=20_000, description="The description of the job that it is for")
    ] = ""
    notes: Annotated[
        list[Annotated[str, Field(max_length=2000)]],
        Field(max_length=200, description="What was not understood of a file"),
    ] = []


class Answer(_Sent):
    """Whether to apply a draft, with values that replace its own."""

    confirm: bool
    edits: PathValues | None = None


Message = Start | Answer | str


def read_message(text: str) -> Message:
    """Tell what a message is; what is no valid JSON of these shapes is words."""
    begins = text.find("{")
    if begins < 0:
        return text
    try:
        decoded, length = json.JSONDecoder().raw_decode(text[begins:])
        found: dict[str, Any] = storable(decoded)
    except (ValueError, RecursionError):
        return text
    around = " ".join(filter(None, (text[:begins].strip(), text[begins + length :].strip())))
    if found.keys() & {*SECTIONS, "workExperience"}:
        found = {"resume": found, "intent": around}
    for kind in (Start, Answer):
        try:
            return kind.model_validate(found)
        except ValidationError:
            continue
    return text
