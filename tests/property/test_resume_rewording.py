"""Whatever a model makes of a draft, it is judged; and no figure gets through that nobody said."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tools.resume import load_resume
from mcp_tools.resume.diagnosis import apply_edits, draft, gather
from mcp_tools.resume.diagnosis.rewording import objections, reworded
from tests.support.coached import ANSWERS, RESUME, TODAY, task_of

TASK, TOLD = task_of("weak_verbs"), load_resume(RESUME)
ANSWER = ANSWERS["weak_verbs"]
EDITS = draft(TASK, TOLD, gather(TASK, TOLD, ANSWER, {}), today=TODAY) or []
SAID = {"9", "40", "12", "3.1", "4.6"}

pieces = st.sampled_from(
    [
        *("Planned", "the", "stand", "of", "a", "yearly", "fair", "and", "won", "9 customers"),
        *(
            "Brickworks",
            "in Scotland",
            "3.1",
            "41%",
            "17 people",
            "Google",
            "Redis",
            "展会",
            "2031",
        ),
    ]
)


@given(st.text(max_size=60) | st.lists(pieces, max_size=12).map(" ".join))
@settings(max_examples=150)
def test_a_wording_is_sound_or_refused(text: str) -> None:
    wording = reworded(EDITS, [text])
    against = objections(TASK, TOLD, EDITS, wording, [ANSWER], today=TODAY)
    if not against:
        assert {*re.findall(r"\d[\d.]*", text)} <= SAID
        assert not re.search("Google|Redis|展会", text)
        after = apply_edits(TOLD, wording).to_json()["work"]
        assert text in str(after)
