"""The scene `chat`: idle -> clarify -> handoff_wait; where sessions begin and come back to."""

from collections.abc import Mapping
from typing import ClassVar

from oda.message.language import Language
from oda.orchestration import Reply, SceneTurn, Workflow

from ..phrases import Phrase
from .answers import INTRODUCTION, UNCLEAR, child_in, introduced, say, small_talk
from .aside import request_of
from .steps import chat, clarify, confirm_handoff


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
        if phrase is not None and phrase.topic == INTRODUCTION:
            return self._introduced(turn, phrase)
        asks = phrase is not None and phrase.topic == UNCLEAR and turn.phase != "clarify"
        talk = await turn.step(clarify if asks else chat, request_of(turn))
        phase = "handoff_wait" if turn.pending else "clarify" if talk.unclear else "idle"
        return Reply(
            text=talk.reply,
            phase=phase,
            suggested_actions=tuple(talk.suggested_actions),
            means=talk.means,
        )

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

    def _introduced(self, turn: SceneTurn, phrase: Phrase) -> Reply:
        """Keep the child's name and grade."""
        child = child_in(phrase)
        return Reply(
            text=introduced(child, turn.language),
            phase="idle",
            suggested_actions=say().choices("suggestions", turn.language),
            user=child,
        )

    def _welcome(self, turn: SceneTurn) -> Reply:
        return Reply(
            text=say()("welcome_back", turn.language),
            phase="idle",
            suggested_actions=say().choices("suggestions", turn.language),
        )
