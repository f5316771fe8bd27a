"""The tool `translate_document`: a whole document, in as many calls of the model as it takes.

Parts are translated at the same time, with one glossary for all of them. Each that is done is kept
at once, so a run that dies goes on with the rest. A part that fails is tried again in halves; what
cannot be translated stays as it is, and is told.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import uuid4

from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel

from mcp_tools.translation import Segment, TranslationError, batch, check_translations
from oda import Capability, ToolPolicy, idempotent, untrusted
from oda.agent.failure import ModelReportedError, classify
from oda.agent.turn_plugin import running_turn
from oda.clock import SystemClock, utc
from oda.errors import DailyLimitError, LimitExceededError, NoContentError
from oda.orchestration.model_access import StepContext
from oda.tools.progress import tell_output
from oda.workspace.sandbox.choice import current_sandboxes
from oda.workspace.tools import workspace_of

from .instructions import GLOSSARY, TRANSLATE_PART
from .settings import researcher_settings
from .translation import Answer, Translation, answering, result_path

_PART_CHARS = 4_000
_PART_SEGMENTS = 80
_SAMPLE_CHARS = 12_000
_MOST_TERMS = 60
_TRIES = 3
_PAUSE_S = 0.5
"""Before a call that has failed is made again; doubled each time."""
_DEEPEST = 3
"""How often a part is halved."""
_MOST_FAILURES = 5
_LONGEST_S = 220.0
"""Seconds in which parts are begun; a call of a tool has a limit of its own."""
_MOST_TOLD = 20
_MARKER = re.compile(r"</?\d+/?>")
_LETTERS = re.compile(r"[^\W\d_]")
_PROSE = 30
"""Letters from which on a text that comes back as it was has not been translated."""


T = TypeVar("T", bound=BaseModel)


class _Term(BaseModel):
    term: str
    translation: str


class _Terms(BaseModel):
    terms: list[_Term]


class _Translated(BaseModel):
    id: str
    text: str


class _Part(BaseModel):
    translations: list[_Translated]


@idempotent
@untrusted
@answering
async def translate_document(
    path: str,
    target_path: str,
    target_language: str,
    tool_context: ToolContext,
    terms: dict[str, str] | None = None,
    tone: str = "as the original",
) -> Answer:
    """Translate a .docx, .xlsx or .pdf of any length, keep its format, and write it with a preview.

    Its parts are translated at the same time with one list of terms. If there is too much for one
    call, `left` is not 0: call it again in the same way to go on.

    Args:
        path: Of the document, such as input/report.docx.
        target_path: Of the result: output/… with the same suffix as the document.
        target_language: Such as English, or 简体中文.
        terms: Translations that are fixed, by term.
        tone: How it should sound.

    Returns:
        left, written, terms (as they were used), failed (segments that stay as they were, and why),
        notes.
    """
    target = result_path(path, target_path)
    fixed = {str(key): str(value) for key, value in (terms or {}).items()}
    async with workspace_of(tool_context) as workspace:
        work = await Translation.open(workspace, path, current_sandboxes())
        asking = StepContext(
            user_id=tool_context.user_id,
            now=utc(SystemClock()),
            session_id=tool_context.session.id,
            turn=running_turn(tool_context.get_invocation_context()),
        )
        run = _Run(work, asking, tool_context, target_language, tone)
        await run.settle_terms(fixed)
        await run.translate()
        done = await work.translations()
        left = [one for one in work.segments if one.id not in done]
        if any(one.id not in run.failed for one in left):
            note = run.stopped or "call it again in the same way to go on"
            return {"left": len(left), "written": [], "note": note}
        written, notes = await work.write(target, done)
    failed = [
        {"id": one.id, "text": one.text[:80], "reason": run.failed[one.id]}
        for one in left[:_MOST_TOLD]
    ]
    if left:
        notes.append(f"{len(left)} of {len(work.segments)} segments stay in their old language")
    return {
        "left": 0,
        "written": written,
        "terms": run.terms,
        "failed": failed,
        "notes": [*notes, *run.notes],
    }


@dataclass
class _Run:
    """A translation on its way."""

    work: Translation
    asking: StepContext
    context: ToolContext
    language: str
    tone: str
    terms: Mapping[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Why a segment could not be translated, by id."""
    notes: list[str] = field(default_factory=list)
    stopped: str = ""
    """Why no further part is begun."""
    finished: int = 0
    """How many segments are done."""
    failures: int = 0
    """How many parts have failed one after the other."""

    async def settle_terms(self, fixed: Mapping[str, str]) -> None:
        """Settle the terms of the document, once for all calls."""
        name = f"{self.work.folder}/terms.json"
        if await self.work.workspace.find(name) is not None:
            self.terms = json.loads(await self.work.workspace.read(name))
            return
        chosen: dict[str, str] = {}
        if len(self.work.segments) > _PART_SEGMENTS or _length(self.work.segments) > _PART_CHARS:
            listed = "\n".join(f"- {term}: {to}" for term, to in fixed.items()) or "(none)"
            instruction = GLOSSARY.filled(language=self.language, fixed=listed)
            try:
                found = await self._ask(instruction, _sample(self.work.segments), _Terms)
                chosen = {one.term: one.translation for one in found.terms[:_MOST_TERMS]}
            except (ModelReportedError, NoContentError) as error:
                self.notes.append(f"no list of terms could be made: {error}")
        self.terms = {**chosen, **fixed}
        data = json.dumps(self.terms, ensure_ascii=False, indent=1).encode()
        await self.work.workspace.write(name, data)

    async def translate(self) -> None:
        """Translate what is left, until it is done or the time is up."""
        done = await self.work.translations()
        left = [one for one in self.work.segments if one.id not in done]
        total = len(self.work.segments)
        places = asyncio.Semaphore(researcher_settings().translations_at_once)
        until = asyncio.get_running_loop().time() + _LONGEST_S

        async def one_part(part: Sequence[Segment]) -> None:
            async with places:
                if self.stopped or asyncio.get_running_loop().time() > until:
                    return
                await self._part(part)
                self.finished += len(part)
                tell_output(self.context, f"{self.finished} / {total}\n")

        self.finished = len(done)
        async with asyncio.TaskGroup() as tasks:
            for part in parts_of(left):
                tasks.create_task(one_part(part))

    async def _part(self, part: Sequence[Segment], depth: int = 0) -> None:
        """Translate a part. What is wrong in an answer is asked for again; an answer of another
        form is asked for in halves."""
        left, reason = list(part), ""
        for number in range(_TRIES):
            try:
                left, reason = await self._try(left)
            except (LimitExceededError, DailyLimitError) as error:
                self.stopped = str(error)
                return
            except ModelReportedError as error:
                reason = str(error)
                if len(left) > 1 and depth < _DEEPEST:
                    middle = len(left) // 2
                    await self._part(left[:middle], depth + 1)
                    await self._part(left[middle:], depth + 1)
                    return
            except Exception as error:  # models fail in many ways; the other parts go on
                failure = classify(error, now=self.asking.now.timestamp())
                reason = failure.message
                if not failure.retryable:
                    break
                await asyncio.sleep(_PAUSE_S * 2**number)
            if not left:
                self.failures = 0
                return
        self.failed |= {one.id: reason for one in left}
        self.failures += 1
        if self.failures >= _MOST_FAILURES:
            self.stopped = f"{self.failures} parts in a row have failed: {reason}"

    async def _try(self, part: Sequence[Segment]) -> tuple[list[Segment], str]:
        """Ask once; return what is still to be translated, and why."""
        listed = "\n".join(f"- {term}: {to}" for term, to in self.terms.items()) or "(none)"
        instruction = TRANSLATE_PART.filled(language=self.language, tone=self.tone, glossary=listed)
        said = json.dumps([one.model_dump() for one in part], ensure_ascii=False)
        answer = await self._ask(instruction, said, _Part)
        given = {one.id: one.text for one in answer.translations}
        sound: dict[str, str] = {}
        reason = ""
        for one in part:
            wrong = _fault(one, given.get(one.id))
            if wrong is None:
                sound[one.id] = given[one.id]
            reason = wrong or reason
        if sound:
            await self.work.keep(sound)
        return [one for one in part if one.id not in sound], reason

    async def _ask(self, instruction: str, said: str, form: type[T]) -> T:
        """Ask the model, and count what it used for the turn."""
        try:
            return await self.asking.ask(instruction, said, form)
        finally:
            used, self.asking.used[:] = [*self.asking.used], []
            if (turn := self.asking.turn) is not None:
                for one in used:
                    turn.usage.add(uuid4().hex, one.model, one.tokens)


def _fault(segment: Segment, text: str | None) -> str | None:
    """Return what is wrong with a translation, if anything."""
    if text is None:
        return "it was left out"
    try:
        check_translations([segment], {segment.id: text})
    except TranslationError as error:
        return str(error)
    if sorted(_MARKER.findall(text)) != sorted(_MARKER.findall(segment.text)):
        return "its markers did not come back"
    same = text.strip() == segment.text.strip()
    return "it came back as it was" if same and _is_prose(text) else None


def _is_prose(text: str) -> bool:
    return " " in text and "://" not in text and len(_LETTERS.findall(text)) >= _PROSE


def parts_of(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Return the parts that are translated in one call each."""
    parts: list[list[Segment]] = []
    begin = 0
    while begin < len(segments):
        part = batch(segments[begin : begin + _PART_SEGMENTS], _PART_CHARS)
        parts.append(part)
        begin += len(part)
    return parts


def _sample(segments: Sequence[Segment]) -> str:
    """Excerpts from all of a document."""
    length = max(1, _length(segments))
    every = max(1, -(-length // _SAMPLE_CHARS))
    return "\n".join(one.text for one in segments[::every])[:_SAMPLE_CHARS]


def _length(segments: Sequence[Segment]) -> int:
    return sum(len(one.text) for one in segments)


LONG_DOCUMENTS = Capability(
    "long documents",
    "translate_document translates a document of any length in one call, with its terms held "
    "constant, and says what could not be translated. Give it the terms that are fixed. "
    "read_segments and write_translations are for repairs, and for what it could not do.",
    tools=[translate_document],
    tool_policy=ToolPolicy(allow=(translate_document.__name__,)),
)
