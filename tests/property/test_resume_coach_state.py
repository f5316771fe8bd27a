"""A coaching that is stored as JSON after any message goes on as the one that was not."""

import asyncio
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.resume_coach.acts import understand
from agents.resume_coach.guide_agent import GuideAgent, Surroundings
from agents.resume_coach.messages import Answer
from agents.resume_coach.state import CoachState
from mcp_tools.resume import apply_patch, diff, load_resume
from tests.support.coached import ANSWERS, RESUME, TODAY, begun, task_of, told

WORDS = (
    *ANSWERS.values(),
    *("yes", "好的就这样", "不对，重写", "no, 2011-09 to 2015-06", "skip", "跳过", "hm", "stop"),
    *(
        "回到教育经历",
        "back to basics",
        "back to task 3",
        "go back",
        "回到火星",
        "2010-09",
        "present",
    ),
)
messages = st.lists(st.sampled_from(WORDS), max_size=8)
answers = st.builds(
    Answer,
    confirm=st.booleans(),
    edits=st.none() | st.just({"basics.phone": "+44 1 234 5678"}) | st.just({"work[7].name": "x"}),
)


@given(kind=st.sampled_from(["missing_contact", "order", "weak_verbs"]), said=messages)
@settings(max_examples=60)
def test_a_guide_in_another_process_says_the_same(kind: str, said: list[str]) -> None:
    around = Surroundings(load_resume(RESUME), TODAY, "en")
    task = task_of(kind)
    one = GuideAgent()
    one.attend(task, around)
    one.generate_opening()
    for message in said:
        other = GuideAgent()
        other.load_state(json.loads(json.dumps(one.export_state())))
        other.attend(task, around)
        assert other.step(message) == one.step(message)
        assert other.export_state() == one.export_state()


@given(said=st.lists(st.sampled_from(WORDS) | answers, max_size=8))
@settings(max_examples=25)
def test_whatever_is_said_the_coaching_stays_sound(said: list[str | Answer]) -> None:
    async def talk() -> None:
        state = await begun()
        for message in said:
            state = await told(state, [message])
            assert sound(state)
            assert CoachState.model_validate_json(state.model_dump_json()) == state

    asyncio.run(talk())


def sound(state: CoachState) -> bool:
    """Whether the parts of a state agree with each other."""
    active = [task.id for task in state.tasks if task.status == "active"]
    assert active == ([] if state.finished else [state.current_task])
    assert state.finished or state.reply
    assert (state.draft is None) or (state.draft.task == state.current_task)
    assert apply_patch(state.original, diff(state.original, state.resume)) == state.resume
    return True


@given(st.text(max_size=300))
def test_every_text_is_some_message(text: str) -> None:
    assert understand(text).act is not None
