"""How many labelled utterances and dialogues rules settle rightly, per half and language."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mcp_tools.resume import JsonObject, Language
from tests.unit.cv_evaluation.judge import is_right
from tests.unit.cv_evaluation.measure import Case, measured, share, table
from tests.unit.cv_evaluation.notation import Half, Message, load_set
from tests.unit.cv_evaluation.talk import Talk

FLOORS: Mapping[Half, float] = MappingProxyType({"learned": 0.97, "unseen": 0.92})
"""What must not be lost again, in either language; nothing is tuned on the unseen half."""
SETS = [load_set(path) for path in sorted(Path(__file__).parent.glob("cv_evaluation/*.yaml"))]
LANGUAGES: tuple[Language, ...] = ("zh", "en")
HALVES = sorted({labelled.half for labelled in SETS})


# Four thousand messages are measured by the first test that asks for them.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = [case for labelled in SETS for case in measured(labelled)]
    print(f"\n{table(found)}")
    return found


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", HALVES)
def test_rules_settle_what_people_say(half: Half, language: Language, cases: list[Case]) -> None:
    some = [case for case in cases if (case.half, case.language) == (half, language)]
    if half == "learned":
        print("\n".join(case.wrong for case in some if case.wrong))
    assert some
    accuracy = share(some)
    assert accuracy >= FLOORS[half]


# The judge itself


RESUME: JsonObject = {
    "basics": {"name": "Ming"},
    "work": [{"name": "Google", "position": "SRE"}, {"name": "Tesla", "startDate": "2019"}],
}


def judged(say: str, **wanted: Any) -> bool:
    """Tell whether a message on RESUME is judged right."""
    seen = Talk(RESUME, date(2026, 11, 21)).say(say)
    return is_right(Message.model_validate({"say": say, **wanted}), seen)


@pytest.mark.parametrize(
    ("say", "right", "wrong"),
    [
        (
            "delete the Google job",
            {"intent": "DELETE", "removes": "work[0]"},
            [{"removes": "work[1]"}, {"removes": ["work[0]", "basics.name"]}, {"asks": "which"}],
        ),
        (
            "change my name to Li",
            {"any": [{"says": True}, {"sets": {"basics.name": {"any": ["Li Wei", "Li"]}}}]},
            [
                {"sets": {"basics.name": "Li Wei"}},
                {"intent": "READ", "sets": {"basics.name": "Li"}},
            ],
        ),
        (
            "add skill Rust",
            {"section": "skills", "adds": {"skills": [{"name": "Rust"}]}},
            [{"adds": {"skills": [{"name": "Rust", "level": "expert"}]}}, {"model": True}],
        ),
        (
            "show the Google job",
            {"reads": "work[0].position"},
            [{"reads": "work[1]"}, {"reads": ["work[0]", "basics.name"]}, {"reads": ""}],
        ),
        ("undo", {"intent": "UNDO", "undoes": True}, [{"says": True}, {"reads": "work"}]),
        ("delete my job", {"asks": "which"}, [{"asks": "what"}, {"removes": "work[0]"}]),
        (
            "add a job at Uber",
            {"asks": ["startDate", "endDate", "position"], "keeps": {"name": "Uber"}},
            [{"asks": ["startDate", "endDate", "position"], "keeps": {}}, {"asks": ["position"]}],
        ),
        ("never mind", {"intent": "UNKNOWN", "says": True}, [{"model": True}, {"undoes": True}]),
    ],
)
def test_the_judge_tells_right_from_wrong(
    say: str, right: dict[str, Any], wrong: list[dict[str, Any]]
) -> None:
    assert judged(say, **right)
    assert not any(judged(say, **wanted) for wanted in wrong)
