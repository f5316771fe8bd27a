"""The editor: all edits of a document, or none."""

from collections.abc import Sequence
from typing import Any

import pytest

from agents.resume_coach.editor_agent import EditorAgent, Executed
from agents.resume_coach.execution import ExecutionDoc
from agents.resume_coach.messages import Answer
from mcp_tools.resume import load_resume
from mcp_tools.resume.diagnosis import ProposedEdit
from oda.adapter import AgentAction
from tests.support.coached import ANSWERS, RESUME, begun, told

GOOD = ProposedEdit(path="basics.email", action="update", value="tom@brennan.example")


def executed(*edits: ProposedEdit) -> tuple[Sequence[str], Executed]:
    """What the editor says, and what it returns."""
    doc = ExecutionDoc(task="t", edits=edits, language="en")
    work = EditorAgent().execute_doc(doc, load_resume(RESUME))
    messages = []
    while True:
        try:
            messages.append(next(work))
        except StopIteration as end:
            return messages, end.value


def test_each_edit_is_told() -> None:
    skill = ProposedEdit(path="skills", action="add", value={"name": "Excel"})
    gone = ProposedEdit(path="work[0].highlights[1]", action="delete")
    messages, done = executed(GOOD, skill, gone)
    assert messages == [
        "1/3 updated basics.email",
        "2/3 added skills",
        "3/3 deleted work[0].highlights[1]",
    ]
    assert done.failure is None
    after = done.resume.to_json()
    assert after["basics"] == {**RESUME["basics"], "email": "tom@brennan.example"}
    assert after["skills"] == [*RESUME["skills"], {"name": "Excel"}]


@pytest.mark.parametrize(
    "bad",
    [
        ProposedEdit(path="work[9].summary", action="update", value="x"),
        ProposedEdit(path="work[0].startDate", action="update", value="the day before"),
        ProposedEdit(path="nowhere", action="add", value={"name": "x"}),
        ProposedEdit(path="basics.phone", action="delete"),
        ProposedEdit(path="work[0", action="delete"),
    ],
    ids=lambda edit: edit.path,
)
def test_an_edit_that_fails_takes_the_others_back(bad: ProposedEdit) -> None:
    before = load_resume(RESUME).model_dump_json()
    messages, done = executed(GOOD, bad, GOOD)
    assert done.failure
    assert messages[0] == "1/3 updated basics.email"
    assert messages[-1].startswith("Edit 2 cannot be made")
    assert len(messages) == 2
    assert done.resume.model_dump_json() == before


async def test_a_failed_edit_leaves_the_resume_and_asks_again() -> None:
    drafted = await told(await begun(), [ANSWERS["missing_contact"]])
    values: dict[str, Any] = {"work[9].name": "x"}
    failed = await told(drafted, [Answer(confirm=True, edits=values)])
    assert failed.resume == drafted.resume
    assert failed.action is AgentAction.WAIT_INPUT
    assert "your resume is as it was" in failed.reply
    assert failed.current_task == drafted.current_task
    mended = await told(failed, [ANSWERS["missing_contact"], "yes"])
    assert mended.progress.done == 1
