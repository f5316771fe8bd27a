"""Whatever is said beside an answer stays out of the resume, in Chinese and English."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.resume_coach.acts import Act, understand
from agents.resume_coach.guide_agent import GuideAgent, Surroundings
from mcp_tools.resume import load_resume
from mcp_tools.resume.diagnosis import diagnose, plan
from tests.support.coached import ANSWERS, RESUME, TODAY

_SETS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("coach_remarks.yaml").read_text(encoding="utf-8")
)
_LEAST_RIGHT = 0.9
"""The part of the held-back remarks whose act is the one of the label; the rest is asked about."""


def remarks(language: str, part: str) -> list[tuple[str, str]]:
    return [(one, act) for act, said in _SETS[language][part].items() for one in said]


def everywhere() -> Iterator[tuple[str, str]]:
    for language in ("zh", "en"):
        for part in ("seen", "held"):
            yield from remarks(language, part)
        yield from ((said, "STRAY") for said in _SETS[language]["stray"])


OLD, NEW = RESUME["work"]
BARE = {"basics": RESUME["basics"], "work": [OLD, {**NEW, "startDate": "2020-09"}]}
"""With a gap of a year, and without education and skills."""


def guides() -> dict[str, GuideAgent]:
    """A guide for each task of two resumes: with a gap, a weak line, sections that are missing."""
    found: dict[str, GuideAgent] = {}
    for resume in (load_resume(RESUME), load_resume(BARE)):
        for task in plan(diagnose(resume, today=TODAY), resume, language="en"):
            guide = GuideAgent()
            guide.attend(task, Surroundings(resume, TODAY, "en"))
            guide.generate_opening()
            found.setdefault(f"{task.kind}:{task.section}", guide)
    return found


@pytest.mark.parametrize("part", ["seen", "held"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_what_a_remark_is(language: str, part: str) -> None:
    told = remarks(language, part)
    wrong = [(said, act, got) for said, act in told if (got := understand(said).act) != Act(act)]
    most = 0 if part == "seen" else (1 - _LEAST_RIGHT) * len(told)
    assert len(wrong) <= most, wrong


def test_no_remark_becomes_content_whatever_is_asked() -> None:
    guides_by_kind = guides()
    assert {"gap:work", "weak_verbs:work", "missing_section:skills"} <= set(guides_by_kind)
    for kind, guide in guides_by_kind.items():
        before = guide.export_state()
        for said, act in everywhere():
            guide.load_state(before)
            decision = guide.step(said)
            is_taken = decision.execution_doc is not None or guide.answers
            assert not is_taken, (kind, act, said, guide.answers)


def test_no_remark_changes_a_draft_and_a_yes_confirms_it_as_shown() -> None:
    guide = guides()["weak_verbs:work"]
    drafted = guide.step(ANSWERS["weak_verbs"])
    before = guide.export_state()
    for said, act in everywhere():
        guide.load_state(before)
        decision = guide.step(said)
        assert guide.stage == "confirming", (act, said)
        assert decision.execution_doc is not None
        texts = {str(one.value) for one in decision.execution_doc.edits}
        if decision.execution_doc != drafted.execution_doc:
            assert act in ("WISH", "STRAY"), said
        assert not any(said in text for text in texts)
        agreed = guide.step("yes")
        assert agreed.execution_doc == decision.execution_doc


@pytest.mark.parametrize(
    ("kind", "said"), [(kind, said) for kind, some in _SETS["answers"].items() for said in some]
)
def test_an_answer_is_taken(kind: str, said: str) -> None:
    guide = next(guide for name, guide in guides().items() if name.startswith(kind))
    assert guide.step(said).execution_doc is not None
