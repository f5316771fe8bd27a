"""What holds for every message."""

import json
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from agents.cv.dialogue.decide import decide
from agents.cv.dialogue.decision import Act
from agents.cv.dialogue.pending import PendingEntry, dump_pending, load_pending, merged
from agents.cv.dialogue.plan import after
from agents.cv.dialogue.situation import Situation
from agents.cv.dialogue.understanding.recognition import Intent, Recognition
from mcp_tools.resume import JsonObject, ResumeError, load_resume

TODAY = date(2026, 11, 21)
RESUME = load_resume({"work": [{"name": "腾讯"}, {"name": "Google"}], "skills": [{"name": "Go"}]})
PENDING = PendingEntry(
    section="work", data={"name": "华为"}, missing_fields=("position", "startDate", "endDate")
)

_WORDS = """
添加 删除 把 改成 查看 撤销 算了 第二条 工作经历 技能 腾讯 前端工程师 2021年7月 到 至今 ， ： “ 」
add delete change to show undo the second job skills Google as SRE at 2019-03 - now , : " '
a@b.co https://x.io 13800138000 2021-13 ( ) . ?
"""
words = st.sampled_from(_WORDS.split())
messages = (
    st.text(max_size=40)
    | st.lists(words, max_size=12).map(" ".join)
    | st.lists(words, max_size=12).map("".join)
)


@given(messages, st.booleans())
def test_every_message_is_decided_and_keeps_its_pending_data_as_json(
    text: str, waiting: bool
) -> None:
    situation = Situation(RESUME, (PENDING,) if waiting else (), "zh", TODAY)
    outcome = decide(text, situation)
    stored = json.loads(json.dumps(dump_pending(outcome.pending)))
    assert load_pending(stored) == outcome.pending
    assert 0 <= outcome.recognition.confidence <= 1
    assert decide(text, situation) == outcome


@given(messages)
def test_what_rules_plan_can_be_carried_out_or_fails_as_a_resume_error(text: str) -> None:
    outcome = decide(text, Situation(RESUME, (), "zh", TODAY))
    if isinstance(outcome.decision, Act):
        try:
            after(outcome.decision.calls, RESUME)
        except ResumeError as error:
            assert error.message("zh")


@given(
    st.dictionaries(st.sampled_from(["name", "position", "startDate"]), st.text(max_size=3)),
    st.dictionaries(st.sampled_from(["name", "position", "startDate"]), st.text(max_size=3)),
    st.booleans(),
)
def test_merging_loses_nothing_and_replaces_only_when_told(
    old: JsonObject, new: JsonObject, corrects: bool
) -> None:
    pending = PendingEntry(section="work", data=old, missing_fields=())
    said = Recognition(intent=Intent.ADD, section="work", data=new, corrects=corrects)
    data = merged(pending, said).data
    given = {name: value for name, value in new.items() if value}
    assert data == ({**old, **given} if corrects else {**given, **old})
