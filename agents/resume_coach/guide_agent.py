"""The guide: leads a person through one task, from what is wrong to a draft that they agree to.

By rules. Only an answer goes into a draft, and only a draft that was shown and agreed to goes on to
the editor; a question, a wish or talk leaves the dialogue where it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from pydantic import BaseModel, JsonValue

from mcp_tools.resume import Language, Resume
from mcp_tools.resume.diagnosis import Task, advice, draft, gather, is_answer, missing, questions

from .acts import About, Act, Understood, understand
from .execution import ExecutionDoc
from .revising import revised
from .wording import say, shown_edits

_MOST_QUESTIONS = 3
"""In one message."""
_MOST_QUOTED = 80
"""Characters."""

_PARTS = ("completeness", "evidence", "relevance", "form")

Stage = Literal["opening", "gathering", "drafting", "confirming", "finished"]


@dataclass(frozen=True)
class Surroundings:
    """The context that the guide needs besides its task."""

    resume: Resume
    today: date
    language: Language
    completed: tuple[str, ...] = ()
    """The ids of the tasks that are done."""
    skipped: tuple[str, ...] = ()
    number: int = 1
    """Number of the task in the plan."""
    total: int = 1
    is_first_after_skip: bool = False
    scores: Mapping[str, str] = field(default_factory=dict)
    """The score and its parts, to be told."""
    opening: str = ""
    """How a model begins to talk about the task; by default as the rules do."""


@dataclass(frozen=True)
class Decision:
    """The guide's reply, and its interpretation of the message."""

    act: Act
    reply: str
    execution_doc: ExecutionDoc | None = None
    """A draft while the stage is `confirming`, what is agreed to once it is `finished`."""
    target_section: str | None = None
    """Target of a `BACKTRACK`."""


class _Memory(BaseModel):
    """All that the guide remembers."""

    task: Task | None = None
    stage: Stage = "opening"
    answers: dict[str, str] = {}
    """Answers by the key of the question."""
    doubt: str = ""
    """What may have been an answer; the person was asked whether it is one."""
    execution_doc: ExecutionDoc | None = None
    others: tuple[ExecutionDoc, ...] = ()
    """Other wordings that were shown with the draft, to choose from."""


class GuideAgent:
    """Works on one task at a time, in one session."""

    def __init__(self) -> None:
        self._memory = _Memory()
        self._around = Surroundings(Resume(), date.min, "en")

    @property
    def stage(self) -> Stage:
        return self._memory.stage

    @property
    def answers(self) -> Mapping[str, str]:
        """The person's answers to the task's questions, by key."""
        return self._memory.answers

    @property
    def draft(self) -> ExecutionDoc | None:
        """The draft that was shown."""
        return self._memory.execution_doc

    def attend(self, task: Task, around: Surroundings) -> None:
        """Turn to a task; where it is another than before, begin with it."""
        self._around = around
        if self._memory.task is None or self._memory.task.id != task.id:
            self._memory = _Memory()
        self._memory.task = task

    def generate_opening(self) -> Decision:
        """Show the diagnosis, and ask the first question; what was said before is forgotten."""
        task = self._task
        self._memory = _Memory(task=task)
        around = self._around
        told = {
            "number": str(around.number),
            "total": str(around.total),
            "diagnosis": task.diagnosis,
            "goal": task.goal,
        }
        name = "opening_after_skip" if around.is_first_after_skip else "opening"
        if around.opening:
            told |= {"diagnosis": around.opening, "goal": ""}
            return Decision(Act.CONTINUE, self._say(name, **told).strip())
        return Decision(Act.CONTINUE, f"{self._say(name, **told)}\n{self._ask()}")

    def step(self, message: str) -> Decision:
        """Take a message."""
        return self.take(understand(message))

    def answer(self, *, confirmed: bool, values: Mapping[str, JsonValue] | None = None) -> Decision:
        """Take the answer to a draft, maybe with other values by their paths."""
        doc = self._memory.execution_doc
        if confirmed and doc is not None and values:
            self._memory.execution_doc = doc.with_values(values)
        return self.take(Understood(Act.CONFIRM if confirmed else Act.REJECT))

    def take(self, said: Understood) -> Decision:
        """Take a message that was understood."""
        doc, doubt = self._memory.execution_doc, self._memory.doubt
        self._memory.doubt = ""
        if (chosen := self._chosen(said)) is not None:
            return self.propose(chosen, said.act)
        match said.act:
            case Act.BACKTRACK:
                return Decision(said.act, "", doc, target_section=said.target)
            case Act.PAUSE:
                return Decision(said.act, self._say("paused"), doc)
            case _ if self.stage == "finished":
                return Decision(said.act, self._say("done"), doc)
            case Act.SKIP:
                self._memory = _Memory(task=self._task, stage="finished")
                return Decision(said.act, self._say("skipped"))
            case Act.QUESTION | Act.TALK | Act.REQUEST:
                return self._stay(said.act, self._replied(said))
            case Act.NOTHING if not self._takes("where"):
                help = advice(self._task.kind, "how", self._around.language)
                return self._stay(said.act, self._say("nothing_told", help=help))
            case Act.WISH:
                return self._grant(said)
            case Act.CONFIRM if doubt and self.stage != "confirming":
                return self._gather(Understood(Act.CONTINUE, doubt, is_dictated=True))
        if self.stage == "confirming":
            return self._settle(said)
        return self._gather(said)

    def propose(
        self, doc: ExecutionDoc, act: Act, *, said: str = "", others: Sequence[ExecutionDoc] = ()
    ) -> Decision:
        """Put a draft before the person, in the place of any other.

        Args:
            said: What the person is told with it; by default a sentence of ours.
            others: Other wordings to choose from.
        """
        self._memory.execution_doc, self._memory.others = doc, tuple(others)
        self._memory.stage = "confirming"
        around = self._around
        shown = shown_edits(doc.edits, around.resume, around.language)
        if others:
            listed = (one.text() for one in (doc, *others))
            lines = "\n".join(f"{number}. {text}" for number, text in enumerate(listed, 1))
            shown = f"{shown}\n{self._say('choices', choices=lines)}"
        if said:
            return Decision(act, f"{said}\n{shown}" if doc.edits else said, doc)
        name = "draft" if doc.edits else "draft_without_edits"
        return Decision(act, self._say(name, edits=shown), doc)

    def reply(self, said: str, act: Act) -> Decision:
        """Say something, and stay where the dialogue is."""
        if self.stage == "opening" and act in (Act.CONTINUE, Act.REJECT):
            self._memory.stage = "gathering"
        return Decision(act, said, self._memory.execution_doc)

    def note(self, answer: str) -> None:
        """Remember an answer, for when the rules lead again."""
        known = self._memory.answers
        self._memory.answers = gather(self._task, self._around.resume, answer, known)

    def drop_draft(self) -> None:
        """Forget the draft, and gather anew."""
        answers = self._memory.answers
        self._memory = _Memory(task=self._task, stage="gathering", answers=answers)

    @property
    def takes_yes(self) -> bool:
        """Whether a yes leads to a draft without the person's answers."""
        return bool(self._memory.doubt) or not self._is_missing

    @property
    def open_questions(self) -> Sequence[str]:
        """What is still to be asked."""
        around, answers = self._around, self._memory.answers
        return questions(self._task, around.resume, language=around.language, answers=answers)

    def edit_failed(self, reason: str) -> Decision:
        """Take back a yes that came to nothing, and ask anew."""
        self._memory = _Memory(task=self._task, stage="gathering")
        return Decision(Act.REJECT, f"{self._say('failed', reason=reason)}\n{self._ask()}")

    def export_state(self) -> dict[str, JsonValue]:
        return self._memory.model_dump(mode="json")

    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        self._memory = _Memory.model_validate(state)

    def _chosen(self, said: Understood) -> ExecutionDoc | None:
        """Return the other wording that is chosen by its number."""
        doc, others = self._memory.execution_doc, self._memory.others
        if not others or doc is None or said.choice is None:
            return None
        choices = (doc, *others)
        return choices[said.choice - 1] if said.choice <= len(choices) else None

    def _gather(self, said: Understood) -> Decision:
        """Take what may be an answer."""
        if not self._is_missing:
            if said.act is Act.CONFIRM:
                return self._draft(said.act)
            name = "skip_instead" if said.act is Act.REJECT else "not_for_this"
            return Decision(said.act, self._say(name))
        self._memory.stage = "gathering"
        if not said.said:
            return Decision(said.act, f"{self._say('need_answer')}\n{self._ask()}")
        known, task, resume = self._memory.answers, self._task, self._around.resume
        told = gather(task, resume, said.said, known)
        if told == known:
            return Decision(said.act, f"{self._say('not_enough')}\n{self._ask()}")
        is_meant = said.is_dictated or said.act is Act.NOTHING
        if not is_meant and (said.is_unsure or not is_answer(task, resume, said.said)):
            self._memory.doubt = said.said
            quoted = said.said.strip()[:_MOST_QUOTED]
            return Decision(said.act, self._say("unclear", said=quoted, question=self._ask()))
        self._memory.answers = told
        return Decision(said.act, self._ask()) if self._is_missing else self._draft(said.act)

    def _settle(self, said: Understood) -> Decision:
        """Take what is said to a draft."""
        doc, memory = self._memory.execution_doc, self._memory
        if said.act is Act.CONFIRM and doc is not None:
            self._memory.stage = "finished"
            return Decision(said.act, self._say("agreed"), doc)
        self._memory = _Memory(task=self._task, stage="gathering")
        if not self._is_missing:
            if said.act is Act.REJECT:
                return Decision(said.act, self._say("skip_instead"))
        elif said.said:
            decision = self._gather(said)
            if decision.execution_doc is not None or said.act is Act.REJECT or self.answers:
                return decision
        else:
            return Decision(said.act, f"{self._say('rejected')}\n{self._ask()}")
        self._memory = memory
        quoted = said.said.strip()[:_MOST_QUOTED]
        return self._stay(said.act, self._say("unclear_for_draft", said=quoted))

    def _grant(self, wish: Understood) -> Decision:
        """Do what is wished of the draft, as far as rules can."""
        doc, around = self._memory.execution_doc, self._around
        if self.stage != "confirming" or doc is None:
            return self._stay(wish.act, self._say("no_draft_yet"))
        edits = revised(wish, doc.edits, around.resume)
        if edits is None:
            return self._stay(wish.act, self._say(f"cannot_{wish.about or 'other'}"))
        return self.propose(doc.model_copy(update={"edits": tuple(edits)}), wish.act)

    def _stay(self, act: Act, reply: str) -> Decision:
        """Say something, and come back to where the dialogue was."""
        back = self._say("draft_waits") if self.stage == "confirming" else self._ask()
        return Decision(act, f"{reply}\n{back}", self._memory.execution_doc)

    def _replied(self, said: Understood) -> str:
        """Answer a question as far as rules can; say something to talk."""
        if said.act is not Act.QUESTION:
            return self._say("talked" if said.act is Act.TALK else "not_now")
        task, around = self._task, self._around
        about: About = said.about or "why"
        if about in ("why", "how", "example", "meaning", "needed"):
            told = advice(task.kind, about, around.language)
            return f"{task.diagnosis} {told}" if about in ("why", "meaning") else told
        left = around.total - len(around.completed) - len(around.skipped)
        counts = {"left": str(left), "number": str(around.number), "total": str(around.total)}
        counts |= dict.fromkeys(_PARTS, "–") | dict(around.scores)
        return self._say(f"about_{about}", **counts)

    def _draft(self, act: Act) -> Decision:
        """Propose edits; where an answer is missing all the same, ask for it."""
        self._memory.stage = "drafting"
        around, task = self._around, self._task
        edits = draft(task, around.resume, self._memory.answers, today=around.today)
        if edits is None:
            self._memory.stage = "gathering"
            return Decision(act, self._ask())
        doc = ExecutionDoc(task=task.id, edits=tuple(edits), language=around.language)
        return self.propose(doc, act)

    @property
    def _task(self) -> Task:
        assert self._memory.task is not None, "attend() comes first"
        return self._memory.task

    @property
    def _is_missing(self) -> bool:
        return bool(missing(self._task, self._around.resume, self._memory.answers))

    def _takes(self, key: str) -> bool:
        open_keys = missing(self._task, self._around.resume, self._memory.answers)
        return any(name.startswith(key) for name in open_keys)

    def _ask(self) -> str:
        """Return the next question with help to answer it, or the question whether to
        show a draft.
        """
        or_else = "shall_i_draft" if self._task.defects else "nothing_left"
        return "\n".join(self.open_questions[:_MOST_QUESTIONS]) or self._say(or_else)

    def _say(self, name: str, **values: str) -> str:
        return say()(name, self._around.language, **values)
