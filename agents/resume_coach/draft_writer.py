"""The texts of a draft in a model's words; where these are not sound, in those of the rules."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from mcp_tools.resume import JsonObject, Resume
from mcp_tools.resume.diagnosis import Task
from mcp_tools.resume.diagnosis.rewording import (
    draft_language,
    draft_texts,
    objections,
    reworded,
)
from mcp_tools.resume.diagnosis.wording import read_entry
from oda.adapter.team import USER
from oda.telemetry import get_logger

from .asking import Wordsmith
from .execution import ExecutionDoc
from .state import CoachState

log = get_logger(__name__)

_INSTRUCTION = """\
You are a career coach who words a resume. You get what is wrong with a part of it, the goal, that \
part as it stands, what the person has answered to your questions, what position the person wants, \
and the texts that a program has made of the answers. Write each of these texts as it should stand \
in the resume, in the language `{language}`: concise, beginning with a strong verb where it tells \
a deed, without "I", without Markdown.
Keep the number of each text, and write one text for each. Keep every name, number and date that \
a text states. Invent no facts: write no number, date, employer, product, skill or result that \
neither the resume nor the person has given.
"""


class _Wording(BaseModel):
    number: int
    text: Annotated[str, Field(min_length=1, max_length=4000)]


class _DraftWording(BaseModel):
    texts: list[_Wording]


class DraftWriter:
    """Words drafts. Stateless."""

    def __init__(self, wordsmith: Wordsmith) -> None:
        self._wordsmith = wordsmith

    async def worded(
        self, doc: ExecutionDoc, task: Task, state: CoachState, answers: Mapping[str, str]
    ) -> ExecutionDoc:
        """Return a draft in better words; as it is where none are found, or they are not sound.

        Args:
            doc: The draft of the rules.
            answers: What it was made of.
        """
        texts = draft_texts(task, doc.edits)
        if not texts:
            return doc
        resume = state.document
        language = draft_language(resume, doc.edits)
        instruction = _INSTRUCTION.format(language=language)
        told = _told(texts, task, state, answers)
        wording = await self._wordsmith.words(instruction, told, _DraftWording)
        if wording is None:
            return doc
        edits = reworded(doc.edits, _in_place(texts, wording))
        said = [*_said(state), *answers.values()]
        against = await asyncio.to_thread(
            objections, task, resume, doc.edits, edits, said, today=state.today
        )
        if against:
            why = sorted({one.partition(":")[0] for one in against})
            log.warning("wording_refused", kind=task.kind, reason=", ".join(why))
            return doc
        return doc.model_copy(update={"edits": tuple(edits)})


def _told(texts: Sequence[str], task: Task, state: CoachState, answers: Mapping[str, str]) -> str:
    told: JsonObject = {
        "wrong": task.diagnosis,
        "goal": task.goal,
        "part": _part(task, state.document),
        "answers": [*answers.values()],
        "wanted": state.intent,
        "texts": [{"number": number, "text": text} for number, text in enumerate(texts, 1)],
    }
    return json.dumps(told, ensure_ascii=False)


def _part(task: Task, resume: Resume) -> JsonValue:
    if task.entry is not None:
        return read_entry(resume, task.section, task.entry)
    document = resume.to_json()
    return document.get(task.section) if task.section else document


def _in_place(texts: Sequence[str], wording: _DraftWording) -> list[str]:
    """The texts with those that the model has worded; other numbers do not count."""
    by_number = {one.number: one.text.strip() for one in wording.texts}
    return [by_number.get(number, text) for number, text in enumerate(texts, 1)]


def _said(state: CoachState) -> Iterator[str]:
    """The person's own words so far."""
    yield state.intent
    yield from (message.content for message in state.history if message.agent == USER)
