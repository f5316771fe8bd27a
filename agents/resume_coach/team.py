"""The three agents behind one protocol: what they learn of the workflow, and do to it."""

import asyncio
from collections.abc import Callable, Generator

from mcp_tools.resume.diagnosis import Task
from oda.adapter import AgentAction, AgentInput, AgentOutput, AgentTeam, PlainAgent

from .acts import Act, understand
from .asking import ANSWERS_WITHIN_S, Ask, Wordsmith
from .conversation import Conversation
from .editor_agent import EditorAgent, Executed
from .guide_agent import Decision, GuideAgent, Surroundings
from .plan_agent import PlanAgent
from .state import CoachState
from .wording import say


def create_default_orchestrator(
    ask: Ask | None = None,
    *,
    hears: Callable[[str], None] = lambda _: None,
    answers_within_s: float = ANSWERS_WITHIN_S,
) -> AgentTeam:
    """Make the team `plan`, `guide`, `editor` for one input.

    Args:
        ask: Reaches a model; without it all is done by rules.
        hears: Receives what the guide says in a model's words, piece by piece.
        answers_within_s: How long the model may take each time.
    """
    wordsmith = Wordsmith(ask, within_s=answers_within_s)
    planner, guide, editor = PlanAgent(wordsmith), GuideAgent(), EditorAgent()
    conversation = Conversation(wordsmith, hears)

    async def plan(input: AgentInput, state: CoachState) -> AgentOutput:
        planned = await planner.generate_plan(
            input.content,
            state.document,
            today=state.today,
            language=state.language,
            job=state.job,
        )
        state.tasks, state.openings = tuple(planned.tasks), dict(planned.openings)
        return AgentOutput(thought="The resume is diagnosed.", content=planned.tasks)

    async def converse(input: AgentInput, state: CoachState) -> AgentOutput:
        if (task := state.active) is None:
            return AgentOutput(content=say()("done", state.language))
        guide.attend(task, _surroundings(state, task))
        state.after_skip = False
        decision = None
        if input.content and not _is_from_rules(input):
            said = await asyncio.to_thread(understand, input.content)
            decision = await conversation.decision(input.content, said, guide, task, state)
        if decision is None:
            decision = await asyncio.to_thread(_decision, guide, input)
        return _settled(decision, guide, state)

    def execute(input: AgentInput, state: CoachState) -> Generator[str, None, AgentOutput]:
        if (doc := state.current_exec_doc) is None:
            return AgentOutput(content=say()("nothing_waits", state.language))
        return _edited((yield from editor.execute_doc(doc, state.document)), state)

    return AgentTeam(
        [
            PlainAgent(plan, name="plan", description="Diagnoses a resume and plans its mending."),
            PlainAgent(converse, name="guide", description="Leads through a task.", memory=guide),
            PlainAgent(execute, name="editor", description="Applies edits, all or none."),
        ]
    )


def _surroundings(state: CoachState, task: Task) -> Surroundings:
    return Surroundings(
        resume=state.document,
        today=state.today,
        language=state.language,
        completed=tuple(task.id for task in state.of_status("done")),
        skipped=tuple(task.id for task in state.of_status("skipped")),
        number=state.tasks.index(task) + 1,
        total=len(state.tasks),
        is_first_after_skip=state.after_skip,
        scores=state.scores,
        opening=state.openings.get(task.id, "") if task.defects else "",
    )


def _is_from_rules(input: AgentInput) -> bool:
    """Return whether an input is no message of the person's."""
    return input.answers or input.context.get("handed_over_by") == "editor"


def _decision(guide: GuideAgent, input: AgentInput) -> Decision:
    if input.context.get("handed_over_by") == "editor":
        return guide.edit_failed(input.content)
    if input.answers:
        return guide.answer(confirmed=input.confirmed, values=input.context.get("payload"))
    return guide.step(input.content) if input.content else guide.generate_opening()


def _settled(decision: Decision, guide: GuideAgent, state: CoachState) -> AgentOutput:
    """Return the output for the workflow after a decision."""
    state.current_exec_doc = decision.execution_doc
    if decision.act is Act.BACKTRACK:
        return AgentOutput(action=AgentAction.SWITCH_TASK, target=decision.target_section)
    if decision.act is Act.SKIP:
        state.close("skipped")
        return AgentOutput(content=decision.reply)
    action, next_agent = AgentAction.WAIT_INPUT, None
    if guide.stage == "finished":
        action, next_agent = AgentAction.HANDOFF, "editor"
    elif guide.stage == "confirming":
        action = AgentAction.REQUEST_CONFIRM
    return AgentOutput(action=action, next_agent=next_agent, content=decision.reply)


def _edited(done: Executed, state: CoachState) -> AgentOutput:
    """Return the output for the workflow after an edit; a failure is handed to the guide."""
    if done.failure is not None:
        return AgentOutput(action=AgentAction.HANDOFF, next_agent="guide", content=done.failure)
    state.close("done")
    state.edited(done.resume)
    rated = str(state.score.after)
    return AgentOutput(content=say()("applied", state.language, score=rated))
