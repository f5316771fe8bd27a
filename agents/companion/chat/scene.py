"""The scene `chat`: idle -> clarify -> handoff_wait; where sessions begin and come back to."""

from collections.abc import Mapping
from typing import ClassVar

from oda.message.language import Language
from oda.orchestration import Reply, SceneTurn, Workflow

from .answers import UNCLEAR, say, small_talk
from .steps import chat, clarify, confirm_handoff
from .talk import TalkRequest


class ChatScene(Workflow):
    """Talks, asks what is meant, and waits for the answer about another scene."""

    name = "chat"
    purpose = (
        "small talk, questions of any kind, the date, today's schedule, learning progress, hearing "
        "or finding a poem"
    )
    titles: ClassVar[Mapping[Language, str]] = {"zh": "先停下来，聊聊天", "en": "stop and chat"}
    phases = ("idle", "clarify", "handoff_wait")
    steps = (chat, clarify, confirm_handoff)

    async def run(self, turn: SceneTurn) -> Reply:
        """Answer, or ask what is meant."""
        phrase = small_talk().find(turn.text)
        if turn.entry == "exited" and phrase is None:
            return self._welcome(turn)
        asks = phrase is not None and phrase.topic == UNCLEAR and turn.phase != "clarify"
        talk = await turn.step(clarify if asks else chat, _request(turn))
        phase = "handoff_wait" if turn.pending else "clarify" if talk.unclear else "idle"
        return Reply(text=talk.reply, phase=phase, suggested_actions=tuple(talk.suggested_actions))

    def ask_about(self, turn: SceneTurn, title: str) -> Reply:
        """Ask whether the child means another scene, and wait for the answer."""
        return super().ask_about(turn, title).model_copy(update={"phase": "handoff_wait"})

    def declined(self, turn: SceneTurn) -> Reply:
        """Go on talking."""
        suggested = say().choices("suggestions", turn.language)
        return (
            super()
            .declined(turn)
            .model_copy(update={"phase": "idle", "suggested_actions": suggested})
        )

    def _welcome(self, turn: SceneTurn) -> Reply:
        return Reply(
            text=say()("welcome_back", turn.language),
            phase="idle",
            suggested_actions=say().choices("suggestions", turn.language),
        )


def _request(turn: SceneTurn) -> TalkRequest:
    return TalkRequest(
        user_input=turn.text,
        session_id=turn.session_id,
        context=[{"said": one.said, "replied": one.replied} for one in turn.recent],
        pending_switch=turn.pending,
        language=turn.language,
    )
