"""Whatever a model makes of a draft, it is judged; and no figure gets through that nobody said."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tools.resume import load_resume
from mcp_tools.resume.diagnosis import ProposedEdit, apply_edits, inventions
from tests.support.coached import ANSWERS, RESUME, TODAY

TOLD, ANSWER = load_resume(RESUME), ANSWERS["weak_verbs"]
SAID = {"9", "40", "12", "3.1", "4.6"}
COUNTED = {"1", "2", "3"}
"""What anyone can count in the resume, as its jobs."""

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
    wording = [ProposedEdit(path="work[1].highlights[1]", action="update", value=text)]
    if not inventions(TOLD, wording, [ANSWER], today=TODAY):
        assert {*re.findall(r"\d[\d.]*", text)} <= SAID | COUNTED
        assert not re.search("Google|Redis", text)
        after = apply_edits(TOLD, wording).to_json()["work"]
        assert text in str(after)
