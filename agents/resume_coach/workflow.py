"""The course of a coaching: plan, then for each task opening, dialogue, yes, edit, and the next."""

from collections.abc import Awaitable, Callable
from datetime import date

from mcp_tools.resume import JsonObject, Language, Path, Resume
from mcp_tools.resume.comparison import text_diff
from mcp_tools.resume.diagnosis import Task, diagnose, is_job, plan, rate
from mcp_tools.resume.diagnosis.wording import place_text
from mcp_tools.resume.export import render
from oda.adapter import AgentAction, AgentInput, AgentOutput
from oda.message.language import language_of

from .acts import About, Act, Understood, understand
from .messages import Answer
from .places import task_meant
from .state import CoachState, Score
from .wording import listed_tasks, say

Work = Callable[[CoachState, AgentInput, str], Awaitable[tuple[CoachState, AgentOutput]]]
"""Has the team work on an input, by the agent of that name first; gives the state after it."""

_SHORTEST_JOB = 120
"""Characters; what describes a job in a message is longer than an answer."""


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

    async def begin(
        self, resume: Resume, intent: str, language: Language, job: str = ""
    ) -> CoachState:
        """Plan, and open the first task.

        Args:
            job: The description of the job that the resume is for, if there is one.
        """
        document: JsonObject = resume.to_json()
        rated = rate(resume, today=self._today, job=job or intent)
        state = CoachState(
            resume=document,
            original=document,
            intent=intent,
            job=job,
            language=language,
            today=self._today,
            score=Score.of(rated, rated),
        )
        state = await self.run_plan(state, intent)
        counts = {"count": str(len(state.tasks)), "score": str(rated.score)}
        if not state.tasks:
            text = say()("nothing_to_do", language, **counts)
            return _replied(state, AgentAction.FINISH, _paragraphs(text, compared(state)))
        listed = listed_tasks(state.tasks, language)
        text = f"{say()('planned', language, **counts)}\n{listed}"
        return await self._next(state, _paragraphs(text, compared(state)))

    async def compare(self, state: CoachState, job: str) -> CoachState:
        """Compare the resume with a job; what it does not show becomes a task."""
        state = state.model_copy(update={"job": job, "today": self._today})
        state.rated()
        left = tuple(task for task in state.tasks if task.kind != "relevance")
        defects = diagnose(state.document, today=self._today, job=job)
        asked = [one for one in defects if one.kind == "relevance"]
        added = tuple(plan(asked, state.document, language=state.language))
        was_open = state.active is not None and state.active.kind != "relevance"
        state.tasks = (*left, *added)
        if was_open or not added:
            text = _paragraphs(compared(state), "" if state.finished else _go_on(state))
            return _replied(state, state.action, text)
        return await self._open(state, added[0], compared(state))

    async def go_on(self, state: CoachState, message: str | Answer) -> CoachState:
        """Take a message, and lead on to the next task when one has ended."""
        state = state.model_copy(
            update={"today": self._today, "language": _language(state, message)}
        )
        understood = understand(message) if isinstance(message, str) else None
        if isinstance(message, str) and is_job(message) and len(message) >= _SHORTEST_JOB:
            return await self.compare(state, message)
        if understood is not None and understood.act is Act.REQUEST:
            return _replied(state, state.action, _requested(state, understood.about))
        if state.finished:
            return await self._after_the_end(state, understood)
        state, output = await self.run_guide_step(state, _input(message))
        if output.action is AgentAction.SWITCH_TASK:
            return await self._switch(state, output.target or "")
        said = str(output.content or "")
        if output.action is AgentAction.FINISH:
            return await self._next(state, said)
        return _replied(state, output.action, said)

    async def _after_the_end(self, state: CoachState, said: Understood | None) -> CoachState:
        if said is not None and said.act is Act.BACKTRACK:
            return await self._switch(state, said.target or "")
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


def _requested(state: CoachState, about: About | None) -> str:
    """Return what a person wants to see; the dialogue stays where it is."""
    language, tell = state.language, say()
    match about:
        case "tasks":
            shown = listed_tasks(state.tasks, language) or tell("no_tasks", language)
        case "score":
            rated = state.scores
            shown = f"{tell('scored', language, **rated)}{tell('about_score', language, **rated)}"
        case "changes":
            shown = text_diff(state.original, state.resume) or tell("no_changes", language)
        case "resume":
            shown = render(state.document, "md").content.decode()
        case _:
            shown = tell("not_now", language)
    return shown if state.finished else f"{shown}\n\n{_go_on(state)}"


def _go_on(state: CoachState) -> str:
    return say()("go_on", state.language)


def compared(state: CoachState) -> str:
    """Say what the job asks for, where the resume shows it, and what is missing."""
    if (beside := state.beside_job) is None:
        return ""
    comma = say()("comma", state.language)
    places = {one.asked: _place(one.where, state) for one in beside.shown}
    shown = comma.join(f"{asked} ({place})" for asked, place in places.items())
    told = {"shown": shown, "missing": comma.join(beside.missing)}
    name = f"job_{'some' if beside.shown else 'none'}_{'left' if beside.missing else 'all'}"
    return say()(name, state.language, **told)


def _place(where: str, state: CoachState) -> str:
    found = Path.parse(where).steps
    entry = found[1] if len(found) > 1 and isinstance(found[1], int) else None
    return place_text(str(found[0]), entry, state.document, state.language)


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _summary(state: CoachState) -> str:
    counts = {**state.progress.model_dump(), **state.scores}
    return say()("finished", state.language, **{name: str(one) for name, one in counts.items()})


def _language(state: CoachState, message: str | Answer) -> Language:
    """Return the language of the reply.

    English in an answer does not change it, it may be a quote.
    """
    if isinstance(message, Answer):
        return state.language
    spoken = language_of(message, state.language)
    told = understand(message).act is Act.CONTINUE
    return state.language if told and spoken == "en" else spoken
