"""What holds for every conversation, whatever is said in which order."""

from collections.abc import Sequence
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from agents.cv.dialogue.decision import Act, Outcome, Say
from agents.cv.dialogue.pending import Pending, PendingEntry
from agents.cv.dialogue.understanding.signals import cancelled
from agents.cv.dialogue.understanding.vocabulary import section_facts
from mcp_tools.resume import JsonObject, load_resume
from tests.unit.cv_evaluation.talk import Seen, Talk

TODAY = date(2026, 11, 21)
RESUME: JsonObject = {
    "basics": {"name": "Ming", "email": "ming@example.com"},
    "work": [
        {"name": "腾讯", "position": "前端工程师", "startDate": "2021"},
        {"name": "Google", "position": "SRE", "startDate": "2017", "endDate": "2020"},
    ],
    "education": [{"institution": "MIT", "area": "Physics"}],
    "skills": [{"name": "Python"}, {"name": "Go", "level": "expert"}],
    "projects": [{"name": "ChatBot"}, {"name": "在线课堂"}],
}

_MESSAGES = """
添加一份工作，在华为|测试工程师|2018年3月到2019年5月|2019年到2017年|写反了|还没离职|不记得了
加一段教育经历，清华大学|计算机|删除一个项目|第二个|都删了|都不是|5|算了|算了，看看我的技能|等一下|继续
不对，是2020年|公司改成小米|职位改成架构师|腾讯那条|把它删掉|给它加个描述：一个工具|看看刚才那条
撤销|再撤销一次|撤销最近两次|把邮箱改成a@b.cn|改一下我的电话|13800138000|添加技能Rust
2021年13月|谢谢|今天天气如何
把名字改成李四，再加一份工作，在美团|添加Kotlin|技能|删除工作经历|把职位改成总监
add a job at Uber|product manager|from May 2015 to June 2016|no, 2014|still there|I don't remember
the other way round|delete a skill|the first one|both of them|none of them|never mind|go on|later
change the title to Lead|make it C++|show it|its level is expert|delete it|undo|undo that one too
undo the last two|undo everything|add the skill Rust and show my jobs|change my phone
+1 415 555 2671|rename it to C|add a job and delete my Google job
Uber was 2015 to 2016|rename Google to Alphabet|delete all projects
add a project|ok thanks!|what's the weather
"""
messages = st.sampled_from(_MESSAGES.strip().replace("\n", "|").split("|"))
talks = st.lists(messages | st.text(max_size=12), max_size=9)


@given(talks)
def test_the_resume_is_valid_after_every_message_and_undo_leads_back(said: list[str]) -> None:
    talk = Talk(RESUME, TODAY)
    start = _content(talk)
    for text in said:
        talk.say(text)
        assert load_resume(talk.resume.to_json()) == talk.resume
    while left := talk.undoable:
        talk.say("undo")
        assert talk.undoable == left - 1
    assert _content(talk) == start


@given(talks)
def test_no_entry_is_lost_or_doubled_while_it_is_pending(said: list[str]) -> None:
    talk = Talk(RESUME, TODAY)
    for text in said:
        before = _entries(talk.pending)
        seen = talk.say(text)
        after = _entries(talk.pending)
        assert len(after) <= len(before) + 1
        gone = _gone(before, after)
        assert len(gone) <= _added(seen) + _given_up(text, seen.outcome)


@given(talks)
def test_an_entry_that_was_added_has_all_that_it_needs(said: list[str]) -> None:
    talk = Talk(RESUME, TODAY)
    for text in said:
        seen = talk.say(text)
        calls = seen.outcome.decision.calls if isinstance(seen.outcome.decision, Act) else ()
        for call in calls:
            value, path = call.params.get("value"), call.params.get("path")
            if call.params.get("action") == "add" and path in section_facts():
                entries = value if isinstance(value, list) else [value]
                required = {*section_facts()[path].required} - {"endDate"}  # type: ignore[index]
                assert all(
                    isinstance(entry, dict) and required <= entry.keys() for entry in entries
                )


def _content(talk: Talk) -> JsonObject:
    return {name: part for name, part in talk.resume.to_json().items() if name != "meta" and part}


def _entries(pending: Sequence[Pending]) -> list[PendingEntry]:
    return [item for item in pending if isinstance(item, PendingEntry)]


def _gone(before: Sequence[PendingEntry], after: Sequence[PendingEntry]) -> list[PendingEntry]:
    """Return the entries that are not there any more, not even with other values."""
    left = list(after)
    gone: list[PendingEntry] = []
    for entry in before:
        kept = next((item for item in left if item.section == entry.section), None)
        if kept is None:
            gone.append(entry)
        else:
            left.remove(kept)
    return gone


def _added(seen: Seen) -> int:
    return sum(call.params.get("action") == "add" for call in seen.calls)


def _given_up(text: str, outcome: Outcome) -> int:
    """Return 1 when the person gave something up, alone or before another wish."""
    dropped = isinstance(outcome.decision, Say) and outcome.decision.topic == "dropped"
    return int(dropped or cancelled(text) != "")
