"""The scene `homework`: idle -> collecting -> correcting -> tutoring -> summary."""

from collections.abc import Mapping
from typing import ClassVar

from mcp_tools.homework import OTHER_TOPIC, HomeworkError, collect, topic_of
from oda.message.language import Language
from oda.orchestration import Reply, SceneTurn, Workflow
from oda.orchestration.state import Data

from ..rules import agreement_in
from .collecting import answers_in, take_answer, take_work
from .correcting import homework_correct
from .helping import answer_in, tutor
from .memory import Memory
from .progress import learning_progress
from .sentences import controls
from .summing_up import homework_summary
from .tutoring import homework_tutor


class HomeworkScene(Workflow):
    """Checks homework, helps to correct it, and suggests what to practise.

    It collects work until every item has an answer or the child has none (`correcting` asks for
    missing ones), checks all of it at once, goes through the mistakes, and sums up.
    """

    name = "homework"
    purpose = (
        "homework: checking questions that the child has answered, helping with those that it "
        "cannot do, from text or photos; slots: work, subject"
    )
    titles: ClassVar[Mapping[Language, str]] = {"zh": "批改作业", "en": "check your homework"}
    phases = ("idle", "collecting", "correcting", "tutoring", "summary")
    steps = (homework_correct, homework_tutor, homework_summary, learning_progress)

    async def run(self, turn: SceneTurn) -> Reply:
        """Go on with the work at hand, or take new work."""
        memory = Memory.of(turn.data)
        if turn.slots.get("work") or not (memory.work or memory.items):
            return await take_work(turn, Memory(subject=memory.subject))
        if turn.phase == "correcting" and memory.work:
            return await take_answer(turn, memory)
        if turn.phase == "tutoring" and memory.items:
            return await tutor(turn, memory)
        return await take_work(turn, Memory(subject=memory.subject))

    def expects(self, text: str, phase: str, data: Data) -> bool:
        """Work that code can read, and what is usually said about it."""
        memory = Memory.of(data)
        if controls().find(text) is not None:
            return True
        if memory.unsure and agreement_in(text) != "unclear":
            return True
        if phase == "correcting" and memory.work:
            return bool(answers_in(text, memory))
        if phase == "tutoring" and memory.items:
            return answer_in(text, memory)[1].kind == "answer"
        try:
            return any(topic_of(item) != OTHER_TOPIC for item in collect(text))
        except HomeworkError:
            return False
