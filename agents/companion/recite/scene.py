"""The scene `recite`: idle -> listening -> done."""

from collections.abc import Mapping
from typing import ClassVar

from mcp_tools.recitation import MAX_UNITS, is_recitation
from oda.message.language import Language
from oda.orchestration import Reply, SceneTurn, Workflow
from oda.orchestration.state import Data

from ..schedule import learning_schedule
from .choosing import choose, is_awaited, recited
from .judging import (
    check_is_recitation_content,
    compare_and_evaluate,
    generate_memory_tips,
    save_history,
)
from .listening import listen
from .material import generate_standard_answer
from .memory import Memory
from .sentences import controls
from .wishes import analyze_idle_intent


class ReciteScene(Workflow):
    """Agrees on a text, listens to it, and says what was good and what to practise."""

    name = "recite"
    purpose = (
        "reciting a text by heart: poems and passages that the child names, that are on today's "
        "schedule, or that it sends; slots: title, author"
    )
    titles: ClassVar[Mapping[Language, str]] = {"zh": "背诵", "en": "recite something"}
    phases = ("idle", "listening", "done")
    steps = (
        learning_schedule,
        analyze_idle_intent,
        check_is_recitation_content,
        compare_and_evaluate,
        generate_memory_tips,
        generate_standard_answer,
        save_history,
    )

    async def run(self, turn: SceneTurn) -> Reply:
        """Go on with a recitation, or find out what is to be recited."""
        memory = Memory.of(turn.data)
        if turn.phase == "listening" and memory.material is not None:
            return await listen(turn, memory)
        if (material := recited(turn.text, memory)) is not None:
            return await listen(turn, memory.about(material))
        return await choose(turn, memory)

    def expects(self, text: str, phase: str, data: Data) -> bool:
        """While it listens: reciting, and what is usually said around it."""
        memory = Memory.of(data)
        if phase != "listening" or memory.material is None:
            return is_awaited(text, memory)
        if controls().find(text) is not None:
            return True
        return len(text) <= MAX_UNITS and is_recitation(memory.material.text, text)[0]
