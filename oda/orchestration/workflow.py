"""A scene: the state, the input and the abilities of one workflow in a turn."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from google.genai.types import Part

from oda.message.language import Language
from oda.orchestration.exchanges import Exchange
from oda.orchestration.response import Reply
from oda.orchestration.state import Data, PendingSwitch
from oda.orchestration.step import Req, Res, RunStep, Step
from oda.orchestration.wording import Wording

Entry = Literal["switched", "exited", "declined"]


@dataclass(frozen=True)
class SceneTurn:
    """One message, as the scene sees it that is to answer."""

    text: str
    """The typed text, or the text of a recording or a picture."""
    phase: str
    data: Data
    """A copy of the scene's stored data, without its phase."""
    slots: Data
    """Values extracted from the message, such as a title."""
    language: Language
    user_id: str
    session_id: str
    now: datetime
    """In the user's time zone."""
    wording: Wording
    entry: Entry | None = None
    """`switched`: the scene has just become active; `exited`: the user has left another for it;
    `declined`: the user does not want the scene that they were asked about."""
    pending: PendingSwitch | None = None
    """The scene that the user was asked about before and has not answered yet."""
    images: Sequence[Part] = ()
    recent: Sequence[Exchange] = ()
    """The latest exchanges of this session, the oldest first."""
    user: Data = field(default_factory=dict)
    """What is kept of the user in all sessions, by names without `user:`."""
    history: Sequence[Exchange] = ()
    """The latest exchanges of the user in any session."""
    run_step: RunStep = field(kw_only=True, repr=False)

    async def step(self, step: Step[Req, Res], request: Req) -> Res:
        """Run a step. Its response is recorded: a turn that fails later resumes after it.

        Raises:
            Exception: the step has failed and has no fallback; do not catch it, so that the turn is
                retried from this step on.
        """
        answer = await self.run_step(step, request)
        assert isinstance(answer, step.response)
        return answer


class Workflow(ABC):
    """A scene as a machine of phases. One instance serves all sessions and keeps no state."""

    name: ClassVar[str]
    purpose: ClassVar[str]
    """When a user wants to be here; read by the model that classifies."""
    titles: ClassVar[Mapping[Language, str]]
    """Name of the scene in questions to users."""
    phases: ClassVar[tuple[str, ...]]
    """The first one is that in which the scene begins."""
    steps: ClassVar[tuple[Step[Any, Any], ...]] = ()
    """The scene's steps; each can be called over HTTP, too."""

    @abstractmethod
    async def run(self, turn: SceneTurn) -> Reply:
        """Answer a turn."""

    def title(self, language: Language) -> str:
        """Return the title in a language, or the scene's name if there is none."""
        return self.titles.get(language, self.name)

    def expects(self, text: str, phase: str, data: Data) -> bool:
        """Return whether a message is clearly expected by the scene.

        It is then not classified further.
        """
        return False

    def ask_about(self, turn: SceneTurn, title: str) -> Reply:
        """Ask whether the user means another scene; the phase stays unless the reply sets it."""
        return Reply(
            text=turn.wording("did_you_mean", turn.language, scene=title),
            suggested_actions=turn.wording.choices("yes_no", turn.language),
        )

    def declined(self, turn: SceneTurn) -> Reply:
        """Return the answer to a user who declines the other scene."""
        return Reply(text=turn.wording("declined", turn.language))
