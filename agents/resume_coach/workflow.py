"""The course of a coaching: plan, then for each task opening, dialogue, yes, edit, and the next."""

from collections.abc import Awaitable, Callable
from datetime import date

from mcp_tools.resume import JsonObject, Language, Resume
from mcp_tools.resume.diagnosis import Task, score
from oda.adapter import AgentAction, AgentInput, AgentOutput
from oda.message.language import language_of

from .intents import Intent, understand
from .messages import Answer
from .places import task_meant
from .state import CoachState, Score
from .wording import listed_tasks, say

Work = Callable[[CoachState, AgentInput, str], Awaitable[tuple[CoachState, AgentOutput]]]
"""Has the team work on an input, by the agent of that name first; gives the state after it."""


class ResumeWorkflow:
    """Leads one message through the agents.

    Args:
        work: How the team is run.
        today: The day of the message, where the person lives.
    """

    def __init__(self, work: Work, *, today: date) -> None:
        self._work = work
        self._today = today

    async def run_plan(self, state: CoachState, intent: str) -> CoachState:
        """Have the plan agent make the tasks."""
        planned, _ = await self._work(state, AgentInput(content=intent), "plan")
        return planned

    async def run_guide_step(
        self, state: CoachState, input: AgentInput
    ) -> tuple[CoachState, AgentOutput]:
        """Have the guide take an input, an empty one for the opening; on a yes the editor edits."""
        return await self._work(state, input, "guide")

    async def run_editor(self, state: CoachState) -> tuple[CoachState, AgentOutput]:
        """Have the editor apply `current_exec_doc`."""
        return await self._work(state, AgentInput(), "editor")

    async def begin(self, resume: Resume, intent: str, language: Language) -> CoachState:
        """Plan, and open the first task."""
        document: JsonObject = resume.to_json()
        rated = score(resume, today=self._today)
        state = CoachState(
            resume=document,
            original=document,
            intent=intent,
            language=language,
            today=self._today,
            score=Score(before=rated, after=rated),
        )
        state = await self.run_plan(state, intent)
        counts = {"count": str(len(state.tasks)), "score": str(rated)}
        if not state.tasks:
            text = say()("nothing_to_do", language, **counts)
            return _replied(state, AgentAction.FINISH, text)
        listed = listed_tasks(state.tasks, language)
        return await self._next(state, f"{say()('planned', language, **counts)}\n{listed}")

    async def go_on(self, state: CoachState, message: str | Answer) -> CoachState:
        """Take a message, and lead on to the next task when one has ended."""
        state = state.model_copy(
            update={"today": self._today, "language": _language(state, message)}
        )
        if state.finished:
            return await self._after_the_end(state, message)
        state, output = await self.run_guide_step(state, _input(message))
        if output.action is AgentAction.SWITCH_TASK:
            return await self._switch(state, output.target or "")
        said = str(output.content or "")
        if output.action is AgentAction.FINISH:
            return await self._next(state, said)
        return _replied(state, output.action, said)

    async def _after_the_end(self, state: CoachState, message: str | Answer) -> CoachState:
        if isinstance(message, str):
            understood = understand(message)
            if understood.intent is Intent.BACKTRACK:
                return await self._switch(state, understood.target or "")
        return _replied(state, AgentAction.FINISH, _summary(state))

    async def _switch(self, state: CoachState, target: str) -> CoachState:
        """Open the task that is meant, or list those that there are."""
        task = task_meant(target, state)
        if task is not None:
            return await self._open(state, task, "")
        listed = listed_tasks(state.tasks, state.language)
        text = say()("no_such_task", state.language, target=target, tasks=listed)
        action = AgentAction.REQUEST_CONFIRM if state.draft else AgentAction.SWITCH_TASK
        return _replied(state, action, text)

    async def _next(self, state: CoachState, said: str) -> CoachState:
        return await self._open(state, next(iter(state.of_status("pending")), None), said)

    async def _open(self, state: CoachState, task: Task | None, said: str) -> CoachState:
        state.open(task)
        if task is None:
            return _replied(state, AgentAction.FINISH, _paragraphs(said, _summary(state)))
        state, output = await self.run_guide_step(state, AgentInput())
        return _replied(state, output.action, _paragraphs(said, str(output.content)))


def _input(message: str | Answer) -> AgentInput:
    if isinstance(message, str):
        return AgentInput(content=message)
    return AgentInput(context={"confirmed": message.confirm, "payload": message.edits})


def _replied(state: CoachState, action: AgentAction, text: str) -> CoachState:
    return state.model_copy(update={"action": action, "reply": text})


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _summary(state: CoachState) -> str:
    counts = {**state.progress.model_dump(), **state.score.model_dump()}
    return say()("finished", state.language, **{name: str(one) for name, one in counts.items()})


def _language(state: CoachState, message: str | Answer) -> Language:
    """Return the language of the reply.

    English in an answer does not change it, it may be a quote.
    """
    if isinstance(message, Answer):
        return state.language
    spoken = language_of(message, state.language)
    told = understand(message).intent is Intent.CONTINUE
    return state.language if told and spoken == "en" else spoken
