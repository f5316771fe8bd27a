"""The guide's dialogue as a model leads it: what it is told, and what of its turn is accepted.

The model says something, and may propose a draft. The rules guard what it wants: a draft states
only known facts and touches only its task, and it is made only after a yes that the rules take for
one as well. Whatever else the model does, the rules lead that turn.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from mcp_tools.resume import JsonObject, Path, ResumeError, read
from mcp_tools.resume.diagnosis import (
    ProposedEdit,
    Task,
    advice,
    inventions,
    is_answer,
    telling_texts,
    texts_changed,
)
from oda.adapter.team import USER
from oda.orchestration.rules import trimmed
from oda.telemetry import get_logger

from .acts import Act, Understood
from .asking import Wordsmith
from .execution import ExecutionDoc
from .guide_agent import Decision, GuideAgent
from .prompts import instruction
from .saying import Saying
from .state import CoachState

log = get_logger(__name__)

_MOST_LINES = 30
"""Of the dialogue."""
_LONGEST_CONSENT = 60
"""Characters; who writes more than that does more than agree."""
_AT_ONCE = frozenset({Act.SKIP, Act.BACKTRACK, Act.PAUSE, Act.REQUEST})
_PLAIN_KINDS = frozenset({"missing_contact", "missing_dates", "impossible_dates"})
"""Kinds whose answers rules read as well as any model."""
_REMOVING = frozenset({"too_long", "duplicate", "unsupported_skill"})
_CLAIMS = re.compile(
    r"\bI(?:'ve| have|ve)? (?:already |now |just )?"
    r"(?:updated|applied|saved|added|written|changed|inserted|put)\b"
    r"|\b(?:has|have) been (?:updated|applied|saved|added|changed)\b"
    r"|(?:已经?|我已)(?:帮你|为你|给你|把.{0,20})?(?:改好|写入|写进|更新|保存|修改|添加|加上|加入)",
    re.IGNORECASE,
)
"""What a model says that takes its proposal for done."""

_ACTS = {
    "answer": Act.CONTINUE,
    "question": Act.QUESTION,
    "wish": Act.WISH,
    "consent": Act.CONFIRM,
    "refusal": Act.REJECT,
    "skip": Act.SKIP,
    "stop": Act.PAUSE,
    "talk": Act.TALK,
    "unclear": Act.CONTINUE,
}


class ModelEdit(BaseModel):
    """One edit; a value that is an entry or a list is its JSON."""

    path: str
    action: Literal["add", "update", "delete"]
    value: str | None = None


class ModelDraft(BaseModel):
    """Edits, and up to two other wordings of their text."""

    edits: Annotated[list[ModelEdit], Field(min_length=1, max_length=12)]
    wordings: list[str] = []


class ModelTurn(BaseModel):
    """What the model makes of a message."""

    say: Annotated[str, Field(min_length=1, max_length=3000)]
    understood: Literal[
        "answer", "question", "wish", "consent", "refusal", "skip", "stop", "talk", "unclear"
    ]
    draft: ModelDraft | None = None
    next: Literal["ask", "confirm", "apply", "skip", "stop"] = "ask"


class Conversation:
    """Has a model lead one turn. Stateless.

    Args:
        hears: Receives what the model says to the person, piece by piece.
    """

    def __init__(self, wordsmith: Wordsmith, hears: Callable[[str], None]) -> None:
        self._wordsmith = wordsmith
        self._hears = hears

    async def decision(
        self, message: str, said: Understood, guide: GuideAgent, task: Task, state: CoachState
    ) -> Decision | None:
        """Return what the model decides; None where the rules are to lead this turn."""
        if not self._wordsmith.has_model or _is_plain(message, said, guide, task, state):
            return None
        told = json.dumps(_told(message, guide, task, state), ensure_ascii=False)
        turn = await self._wordsmith.words(
            instruction("guide", state.language), told, ModelTurn, Saying(self._hears)
        )
        if turn is None:
            return None
        draft, why = None, _misspoken(turn)
        if turn.draft is not None and not why:
            draft = _doc(turn.draft, task, state)
            asked = _said(state, message)
            why = await asyncio.to_thread(_objections, draft, turn.draft, task, state, asked)
            why += [] if said.act is Act.CONTINUE else _remarks(draft, turn.draft, message)
        if why:
            log.warning("model_turn_refused", kind=task.kind, reason=why[0])
            return None
        return _taken(turn, draft, message, said, guide, task, state)


def _is_plain(
    message: str, said: Understood, guide: GuideAgent, task: Task, state: CoachState
) -> bool:
    """Tell whether rules do at once what a message wants, at no cost."""
    if said.act in _AT_ONCE or said.choice is not None or said.is_dictated:
        return True
    if said.act is Act.CONFIRM:
        return guide.draft is not None or guide.takes_yes
    answers = said.act is Act.CONTINUE and not said.is_unsure
    plain = answers and task.kind in _PLAIN_KINDS
    return plain and is_answer(task, state.document, said.said)


def _told(message: str, guide: GuideAgent, task: Task, state: CoachState) -> JsonObject:
    draft = guide.draft
    part: JsonValue = state.resume.get(task.section) if task.section else None
    if task.entry is not None:
        try:
            part = read(state.document, f"{task.section}[{task.entry}]")
        except ResumeError:
            part = None
    place = task.section if task.entry is None else f"{task.section}[{task.entry}]"
    return {
        "finding": {
            "kind": task.kind,
            "diagnosis": task.diagnosis,
            "goal": task.goal,
            "why": advice(task.kind, "why", state.language),
        },
        "place": place,
        "part": part,
        "resume": {name: value for name, value in state.resume.items() if name != "meta"},
        "wanted": state.intent,
        "job": state.job,
        "questions": [*guide.open_questions],
        "dialogue": [line.model_dump() for line in state.dialogue[-_MOST_LINES:]],
        "draft": None if draft is None else draft.model_dump(mode="json")["edits"],
        "message": message,
    }


def _misspoken(turn: ModelTurn) -> list[str]:
    if not turn.say.strip():
        return ["it says nothing"]
    claims = turn.next != "apply" and _CLAIMS.search(turn.say)
    return ["it takes a proposal for done"] if claims else []


def _doc(draft: ModelDraft, task: Task, state: CoachState) -> ExecutionDoc:
    edits = tuple(
        ProposedEdit(path=one.path, action=one.action, value=_decoded(one.value))
        for one in draft.edits
    )
    return ExecutionDoc(task=task.id, edits=edits, language=state.language)


def _decoded(value: str | None) -> JsonValue:
    """Return an entry or a list that is written as JSON; other texts as they are."""
    if value is not None and value.lstrip()[:1] in ("{", "["):
        try:
            decoded: JsonValue = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded
    return value


def _objections(
    doc: ExecutionDoc, draft: ModelDraft, task: Task, state: CoachState, said: Sequence[str]
) -> list[str]:
    strange = [f"not its task: {one.path}" for one in doc.edits if not _is_in_place(one, task)]
    if strange:
        return strange
    docs = [doc, *_others(doc, draft)]
    return [
        objection
        for one in docs
        for objection in inventions(state.document, one.edits, said, today=state.today)
    ]


def _remarks(doc: ExecutionDoc, draft: ModelDraft, message: str) -> list[str]:
    """Return the texts that hold a message which is no content."""
    remark = trimmed(message).casefold()
    texts = (text for one in (doc, *_others(doc, draft)) for text in telling_texts(one.edits))
    return [f"a remark: {text}" for text in texts if remark and remark in text.casefold()]


def _is_in_place(one: ProposedEdit, task: Task) -> bool:
    try:
        path = Path.parse(one.path)
    except ResumeError:
        return False
    if one.action == "delete" and task.kind not in _REMOVING:
        return False
    match task.kind:
        case "order" | "spelling" | "inconsistent_tense" | "duplicate":
            return False  # the rules know these to the letter
        case "gap":
            return path.section in ("work", "education", "volunteer", "projects")
        case "unsupported_skill" | "relevance":
            return path.section in ("skills", "work", "projects")
        case _ if not task.section:
            return bool(path.section)
        case _ if task.entry is None:
            return path.section == task.section
        case _:
            return [*path.steps[:2]] == [task.section, task.entry]


def _others(doc: ExecutionDoc, draft: ModelDraft) -> Iterator[ExecutionDoc]:
    """Yield the draft in its other wordings, where it has one text to word."""
    if len(telling_texts(doc.edits)) != 1:
        return
    for wording in draft.wordings[:2]:
        if text := wording.strip():
            edits = texts_changed(doc.edits, lambda _, text=text: text)  # type: ignore[misc]
            yield doc.model_copy(update={"edits": tuple(edits)})


def _taken(
    turn: ModelTurn,
    draft: ExecutionDoc | None,
    message: str,
    said: Understood,
    guide: GuideAgent,
    task: Task,
    state: CoachState,
) -> Decision:
    """Do what the model wants, as far as the person's own words allow it."""
    act = _ACTS[turn.understood]
    is_answer_to_it = said.act is Act.CONTINUE and is_answer(task, state.document, said.said)
    if is_answer_to_it and not said.is_unsure:
        guide.note(said.said)
    if draft is not None and turn.draft is not None:
        others = [*_others(draft, turn.draft)]
        return guide.propose(draft, Act.CONTINUE, said=turn.say.strip(), others=others)
    may_agree = (
        said.act in (Act.CONFIRM, Act.CONTINUE)
        and not is_answer_to_it
        and len(message) <= _LONGEST_CONSENT
    )
    if act is Act.CONFIRM and turn.next == "apply" and may_agree and guide.draft is not None:
        return guide.take(Understood(Act.CONFIRM))
    open_to_it = said.act in (Act.CONTINUE, Act.TALK, Act.NOTHING, Act.REJECT)
    if act is Act.SKIP and turn.next == "skip" and open_to_it:
        return guide.take(Understood(Act.SKIP))
    if act is Act.REJECT and said.act is Act.REJECT:
        guide.drop_draft()
    return guide.reply(turn.say.strip(), act)


def _said(state: CoachState, message: str) -> list[str]:
    """The person's own words so far."""
    said = (line.content for line in state.history if line.agent == USER)
    return [state.intent, *said, message]
