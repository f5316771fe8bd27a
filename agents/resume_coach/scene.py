"""The scene `coach`, the only one: its phases are the states of the guide."""

from collections.abc import Mapping
from typing import ClassVar

from mcp_tools.resume import ResumeError, load_resume
from mcp_tools.resume.diagnosis.reading import Reading
from oda.adapter import AgentAction, AgentInput, AgentMessage, AgentOutput, AgentTeam
from oda.message.language import Language, language_of
from oda.orchestration import (
    Question,
    Reply,
    SceneTurn,
    StepContext,
    TeamRequest,
    Workflow,
    team_step,
)
from oda.orchestration.response import Problem
from oda.orchestration.state import Data

from .acts import understand
from .files import ExportRequest, export, format_named
from .messages import Answer, Start, read_message
from .state import CoachState
from .team import create_default_orchestrator
from .view import card, draft_of
from .wording import say
from .workflow import ResumeWorkflow, Work

_STEP_WITHIN_S = 60.0


def _team(context: StepContext) -> AgentTeam:
    def tell(said: str) -> None:
        piece = AgentMessage(agent="guide", content=said, partial=True)
        context.tell({"message": piece.model_dump(mode="json")})

    return create_default_orchestrator(context.ask if context.has_model else None, hears=tell)


coach_agents = team_step("coach-agents", _team, CoachState, timeout_s=_STEP_WITHIN_S)


class CoachScene(Workflow):
    """Takes a resume and leads through its tasks."""

    name = "coach"
    purpose = "diagnosing a resume and mending it task by task"
    titles: ClassVar[Mapping[Language, str]] = {"zh": "改简历", "en": "mend your resume"}
    phases = ("start", "opening", "gathering", "drafting", "confirming", "finished")
    steps = (coach_agents, export)

    def expects(self, text: str, phase: str, data: Data) -> bool:
        """Everything: there is no other scene."""
        return True

    async def run(self, turn: SceneTurn) -> Reply:
        """Begin with a resume, or go on with the one there is."""
        state = CoachState.model_validate(turn.data) if turn.data else None
        message = read_message(turn.text)
        workflow = ResumeWorkflow(_in_turn(turn), today=turn.now.date())
        if isinstance(message, Start):
            return await self._begin(message, workflow, turn)
        if state is None:
            return Reply(text=say()("hello", turn.language))
        if isinstance(message, Answer) and state.draft is None:
            text = say()("nothing_waits", state.language)
            return Reply(text=text, problem=Problem(code="nothing_to_confirm", message=text))
        if isinstance(message, str) and understand(message).about == "export":
            return await self._export(state, message, turn)
        went_on = await workflow.go_on(state, message)
        said = message if isinstance(message, str) else ""
        return _reply(went_on.with_exchange(said))

    async def _export(self, state: CoachState, message: str, turn: SceneTurn) -> Reply:
        """Give the resume as a file; the dialogue stays where it is."""
        request = ExportRequest(resume=state.resume, format=format_named(message))
        file = await turn.step(export, request)
        text = say()("exported", state.language, file=file.name, link=file.link)
        back = "" if state.finished else f"\n\n{say()('go_on', state.language)}"
        told = state.model_copy(update={"reply": f"{text}{back}"})
        return _reply(told.with_exchange(message))

    async def _begin(self, start: Start, workflow: ResumeWorkflow, turn: SceneTurn) -> Reply:
        try:
            resume = load_resume(start.resume)
        except ResumeError as error:
            reason = error.message(turn.language)
            text = say()("bad_resume", turn.language, reason=reason)
            return Reply(text=text, problem=Problem(code=error.code, message=text))
        written_in = Reading.of(resume, today=turn.now.date()).language
        language = language_of(start.intent, written_in)
        begun = await workflow.begin(resume, start.intent, language, start.job)
        if start.notes:
            notes = say()("not_understood", language, notes="\n".join(start.notes))
            begun = begun.model_copy(update={"reply": f"{notes}\n\n{begun.reply}"})
        return _reply(begun.with_exchange(""))


def _in_turn(turn: SceneTurn) -> Work:
    async def work(
        state: CoachState, input: AgentInput, agent: str
    ) -> tuple[CoachState, AgentOutput]:
        done = await turn.step(
            coach_agents, TeamRequest[CoachState](state=state, input=input, agent=agent)
        )
        return done.state, done.output

    return work


def _reply(state: CoachState) -> Reply:
    asks = state.action is AgentAction.REQUEST_CONFIRM
    actions = say().choices("yes_no" if asks else "skip", state.language)
    return Reply(
        text=state.reply,
        phase=_phase(state),
        data=state.model_dump(mode="json"),
        card=card(state),
        asks=_question(state) if asks else None,
        suggested_actions=() if state.finished else actions,
    )


def _question(state: CoachState) -> Question:
    return Question(
        message=say()("confirm", state.language),
        payload=draft_of(state),
        response_schema={"anyOf": [{"type": "string"}, Answer.model_json_schema()]},
    )


def _phase(state: CoachState) -> str:
    if state.finished:
        return "finished"
    return str(state.agent_states["guide"]["stage"])
