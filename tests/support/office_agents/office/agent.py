"""An orchestrator with one scene, in which the team of `tests.support.office` works."""

from collections.abc import Mapping
from typing import ClassVar

from google.adk.apps import App
from pydantic import BaseModel

from oda.adapter import AgentAction
from oda.message.language import Language
from oda.orchestration import (
    Orchestrator,
    Reply,
    SceneTurn,
    StepContext,
    TeamRequest,
    Workflow,
    step,
    team_step,
)
from tests.support.office import OfficeState, make_team, office, told

work_in_team = team_step("work-in-team", lambda context: make_team(), OfficeState)


class Note(BaseModel):
    text: str


@step("file-away")
async def file_away(request: Note, context: StepContext) -> Note:
    """Keep a note of what was said."""
    if office.filing_failures:
        raise office.filing_failures.pop(0)
    return Note(text=f"{request.text}.")


class Desk(Workflow):
    name = "desk"
    purpose = "to have something done"
    titles: ClassVar[Mapping[Language, str]] = {"en": "go to the desk"}
    phases = ("open", "asking")
    steps = (work_in_team, file_away)

    async def run(self, turn: SceneTurn) -> Reply:
        state = OfficeState.model_validate(turn.data.get("team") or {})
        state.inputs += 1
        request = TeamRequest[OfficeState](state=state, input=told(turn.text))
        done = await turn.step(work_in_team, request)
        filed = await turn.step(file_away, Note(text=str(done.output.content)))
        asks = done.output.action is AgentAction.REQUEST_CONFIRM
        return Reply(
            text=filed.text,
            phase="asking" if asks else "open",
            data={"team": done.state.model_dump(mode="json")},
        )


app = App(name="office", root_agent=Orchestrator("office", scenes=[Desk()]))
