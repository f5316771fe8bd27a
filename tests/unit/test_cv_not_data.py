"""What people say that is no data stays out of the resume and of what is pending."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

from mcp_tools.resume import JsonObject
from tests.unit.cv_evaluation.talk import Talk

SAID: Mapping[str, Mapping[str, list[str]]] = yaml.safe_load(
    Path(__file__).with_name("cv_not_data.yaml").read_text(encoding="utf-8")
)
RESUME: JsonObject = {
    "basics": {"name": "王小明", "email": "xm@example.com", "phone": "13912345678"},
    "work": [
        {
            "name": "腾讯",
            "position": "高级工程师",
            "startDate": "2021-07",
            "highlights": ["a", "b"],
        },
        {"name": "Google", "position": "SRE", "startDate": "2019-03", "endDate": "2021-06"},
    ],
    "education": [{"institution": "浙江大学", "area": "计算机科学", "startDate": "2013"}],
    "skills": [{"name": "Python"}, {"name": "Go"}],
    "projects": [{"name": "智能客服", "description": "客服机器人"}],
}
SITUATIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "at rest": {"zh": (), "en": ()},
        "after a look": {"zh": ("看看腾讯那段",), "en": ("show the Google job",)},
        "after an edit": {"zh": ("添加技能Rust",), "en": ("add skill Rust",)},
        "a job": {"zh": ("添加一条工作经历",), "en": ("add a job",)},
        "a position": {
            "zh": ("添加一条工作经历，在百度，2012年到2014年",),
            "en": ("add a job at Uber, 2012 to 2014",),
        },
        "dates": {
            "zh": ("添加一条工作经历，在百度，测试工程师",),
            "en": ("add a job at Uber as SRE",),
        },
        "a degree": {"zh": ("添加教育经历",), "en": ("add a degree",)},
        "a project": {"zh": ("添加一个项目",), "en": ("add a project",)},
        "a name": {"zh": ("修改我的名字",), "en": ("change my name",)},
        "a choice": {"zh": ("删除一段工作经历",), "en": ("delete a job",)},
        "a section": {"zh": ("加一条",), "en": ("add something",)},
    }
)


def stored(said: str, before: tuple[str, ...]) -> bool:
    """Tell whether anything of a message has been kept."""
    talk = Talk(RESUME, date(2026, 11, 23))
    for message in before:
        talk.say(message)
    resume, pending = talk.resume, talk.pending
    talk.say(said)
    return talk.resume != resume or talk.pending != pending


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("half", SAID)
def test_what_is_no_data_is_not_kept(half: str, language: str) -> None:
    wrong = [
        (said, name)
        for said in SAID[half][language]
        for name, before in SITUATIONS.items()
        if stored(said, before[language])
    ]
    shown = wrong if half == "learned" else len(wrong)
    assert not wrong, shown


@pytest.mark.parametrize("name", [name for name in SITUATIONS if name not in ("at rest",)])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_dialogue_goes_on_after_talk(name: str, language: str) -> None:
    talk, silent = Talk(RESUME, date(2026, 11, 23)), Talk(RESUME, date(2026, 11, 23))
    for message in SITUATIONS[name][language]:
        talk.say(message)
        silent.say(message)
    for said in SAID["learned"][language][:5]:
        talk.say(said)
    answer = {"zh": "2015年3月到2016年5月", "en": "from March 2015 to May 2016"}[language]
    assert talk.say(answer).outcome.pending == silent.say(answer).outcome.pending
    assert talk.resume == silent.resume
