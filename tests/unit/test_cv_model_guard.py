"""The hard facts that a model may not make up, and those that it may write down."""

from datetime import date
from typing import Any

import pytest

from mcp_tools.resume.facts import Known, unsaid

TODAY = date(2026, 11, 21)


def judged(said: str, section: str, value: Any, field: str | None = None) -> list[str]:
    return unsaid(section, field, value, Known.of([said], today=TODAY))


SAID = [
    # dates, in whatever way they were said
    ("2021年7月到2023年6月在腾讯", "work", {"startDate": "2021-07", "endDate": "2023-06"}),
    ("从二〇二一年七月开始", "work", {"startDate": "2021-07"}),
    ("21年7月入职", "work", {"startDate": "2021-07"}),
    ("2019.03 - 2021.06", "work", {"startDate": "2019-03", "endDate": "2021-06"}),
    ("from 03/2019 until June 2021", "work", {"startDate": "2019-03", "endDate": "2021-06"}),
    ("from March to July 2019", "work", {"startDate": "2019-03", "endDate": "2019-07"}),
    ("I started last year in May", "work", {"startDate": "2025-05"}),
    ("去年三月到今年五月", "work", {"startDate": "2025-03", "endDate": "2026-05"}),
    ("上个月离职", "work", {"endDate": "2026-10"}),
    ("I left last month", "work", {"endDate": "2026-10"}),
    ("2019年开始，做了两年", "work", {"startDate": "2019", "endDate": "2021"}),
    ("three years at Acme, from 2015", "work", {"name": "Acme", "endDate": "2018"}),
    ("I have been there for two years", "work", {"startDate": "2024-11"}),
    ("2020年夏天实习", "work", {"startDate": "2020-06", "endDate": "2020-08"}),
    ("summer 2020 internship", "work", {"startDate": "2020-06", "endDate": "2020-09"}),
    ("2018年本科毕业", "education", {"endDate": "2018-06"}),
    ("started in 2019 for 8 months", "work", {"startDate": "2019-01", "endDate": "2019-09"}),
    ("18级，22届", "education", {"startDate": "2018", "endDate": "2022"}),
    ("awarded on May 3rd, 2020", "awards", {"title": "Best Talk", "date": "2020-05-03"}),
    # names, longer and shorter
    ("我在腾讯做前端", "work", {"name": "腾讯"}),
    ("我在腾讯做前端", "work", {"name": "腾讯科技（深圳）有限公司"}),
    ("我在腾讯做前端", "work", {"name": "Tencent"}),
    ("I work at Google", "work", {"name": "Google LLC"}),
    ("i worked for acme corp", "work", {"name": "ACME Corporation"}),
    ("在谷歌", "work", {"name": "Google"}),
    ("北大计算机", "education", {"institution": "北京大学"}),
    ("我在哈工大读的硕士", "education", {"institution": "哈尔滨工业大学"}),
    ("我本科在西电", "education", {"institution": "西安电子科技大学"}),
    ("MIT, physics", "education", {"institution": "Massachusetts Institute of Technology"}),
    ("studied at ucla", "education", {"institution": "University of California Los Angeles"}),
    ("University of Oxford", "education", {"institution": "Oxford University"}),
    ("叫我张三", "basics", {"name": "张三"}),
    ("my name is john smith", "basics", {"name": "John Smith"}),
    ("阿里云认证", "certificates", {"name": "ACP", "issuer": "阿里云"}),
    # numbers
    ("性能提升了30%", "work", {"summary": "性能提升 30%"}),
    ("性能提升了百分之三十", "work", {"summary": "将性能提升30%"}),
    ("性能提升三成", "work", {"summary": "将性能提升30%"}),
    ("成本降了一半", "work", {"summary": "成本降低50%"}),
    ("日活翻了一倍", "work", {"summary": "日活增长100%"}),
    ("revenue doubled", "work", {"summary": "Grew revenue 2x"}),
    ("by thirty percent", "work", {"summary": "improved it by 30%"}),
    ("one hundred and twenty customers", "work", {"summary": "120 customers"}),
    ("12k users", "work", {"summary": "服务1.2万用户"}),
    ("一万两千个用户", "work", {"summary": "12,000 users"}),
    ("用户5000万", "work", {"summary": "50 million users"}),
    ("用户五千万", "work", {"summary": "用户 5000 万"}),
    ("营收3亿", "work", {"summary": "revenue of 300 million"}),
    ("带了五个人", "work", {"summary": "带领 5 人团队"}),
    ("led a team of five", "work", {"summary": "Led a 5-person team"}),
    ("a dozen services", "work", {"summary": "ran 12 services"}),
    ("延迟从200ms降到50ms", "work", {"highlights": ["P99 延迟由 200 ms 降至 50 ms"]}),
    ("QPS 三千", "work", {"summary": "支撑 3000 QPS"}),
    ("2019到2022在那里", "work", {"summary": "3年经验"}),
    ("worked there 2015 to 2021", "basics", {"summary": "6+ years of experience"}),
    ("我用 Vue 和 Python", "work", {"summary": "使用 Vue 3 与 HTML5、ES6、K8s、5G"}),
    ("gpa 3.8/4.0", "education", {"score": "3.8/4.0"}),
    ("做了个平台", "work", {"summary": "从0到1搭建平台，7x24 稳定运行，一些模块是第一次做"}),
    ("做平台", "work", {"summary": "1. 搭建平台\n2. 维护平台"}),
    ("平台", "work", {"summary": "万一出现故障，十分迅速地恢复，完成一个重要版本"}),
    ("wrote it", "work", {"summary": "One of the main authors; first-class support"}),
    ("HTML", "skills", {"name": "HTML5", "keywords": ["CSS3", "ES2020"]}),
    # ways to reach somebody
    ("邮箱 Zhang@Example.com", "basics", {"email": "zhang@example.com"}),
    ("电话 138-0013-8000", "basics", {"phone": "13800138000"}),
    ("call me at (415) 555-2671", "basics", {"phone": "+1 415 555 2671"}),
    ("my site is example.com/me", "basics", {"url": "https://www.example.com/me/"}),
    ("my github is alice", "basics", {"profiles": [{"network": "GitHub", "username": "alice",
                                                   "url": "https://github.com/alice"}]}),
    # wording is free
    ("写代码", "work", {"summary": "负责核心模块的设计与开发，持续改进代码质量"}),
    ("coding", "work", {"position": "Senior Backend Engineer", "highlights": ["Designed systems"]}),
    ("做报表", "projects", {"name": "报表系统", "description": "基于 Node.js 与 ASP.NET"}),
]  # fmt: skip

MADE_UP = [
    ("我在腾讯做前端", "work", {"startDate": "2021-07"}, "2021-07"),
    ("2021年入职", "work", {"startDate": "2021-07"}, "2021-07"),
    ("2021年7月入职", "work", {"endDate": "2023-07"}, "2023-07"),
    ("2021年7月入职", "work", {"startDate": "2021-07-15"}, "2021-07-15"),
    ("I started last year", "work", {"startDate": "2023"}, "2023"),
    ("我做前端", "work", {"name": "字节跳动"}, "字节跳动"),
    ("我在腾讯做前端", "work", {"name": "阿里巴巴"}, "阿里巴巴"),
    ("我在北京工作", "work", {"name": "北京大学"}, "北京大学"),
    ("I am a developer", "work", {"name": "Google"}, "Google"),
    ("I worked at Google", "work", {"name": "Meta"}, "Meta"),
    ("I am in physics", "education", {"institution": "Yale University"}, "Yale University"),
    ("大学学的物理", "education", {"institution": "清华大学"}, "清华大学"),
    ("写个推荐人", "references", {"name": "李四"}, "李四"),
    ("I am John", "basics", {"name": "John Smith"}, "John Smith"),
    ("优化了性能", "work", {"summary": "性能提升 30%"}, "30%"),
    ("优化了性能", "work", {"summary": "性能提升百分之三十"}, "百分之三十"),
    ("优化了性能", "work", {"summary": "性能提升三成"}, "三成"),
    ("made it faster", "work", {"highlights": ["Made it 3x faster"]}, "3x"),
    ("made it faster", "work", {"highlights": ["Improved by thirty percent"]}, "thirty percent"),
    ("grew sales", "work", {"summary": "Doubled sales"}, "Doubled"),
    ("提升了30%", "work", {"summary": "提升了 35%"}, "35%"),
    ("带团队", "work", {"summary": "带领 8 人团队"}, "8"),
    ("带团队", "work", {"summary": "带领八人团队"}, "八人"),
    ("led a team", "work", {"summary": "Led a team of 12"}, "12"),
    ("led a team", "work", {"summary": "Led twelve engineers"}, "twelve engineers"),
    ("很多用户", "work", {"summary": "服务五十万用户"}, "五十万"),
    ("很多用户", "work", {"summary": "服务 100 万用户"}, "100 万"),
    ("many users", "work", {"summary": "served 10k users"}, "10k"),
    ("5个用户", "work", {"summary": "服务 5 万用户"}, "5 万"),
    ("做前端", "basics", {"summary": "8年经验"}, "8"),
    ("我叫张三", "basics", {"email": "zhangsan@gmail.com"}, "zhangsan@gmail.com"),
    ("我叫张三", "basics", {"phone": "13800138000"}, "13800138000"),
    ("我叫张三", "basics", {"url": "https://zhangsan.dev"}, "https://zhangsan.dev"),
    ("my github is alice", "basics", {"profiles": [{"url": "https://github.com/bob"}]},
     "https://github.com/bob"),
    ("做前端", "basics", {"summary": "联系 a@b.cn"}, "a@b.cn"),
    ("做前端", "work", {"summary": "见 https://demo.example.org/x"}, "https://demo.example.org/x"),
    ("做前端", "work", {"summary": "2019年7月上线"}, "2019年7月"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "section", "value"), SAID)
def test_what_was_said_may_be_written(said: str, section: str, value: Any) -> None:
    assert judged(said, section, value) == []


@pytest.mark.parametrize(("said", "section", "value", "fact"), MADE_UP)
def test_what_was_never_said_is_found(said: str, section: str, value: Any, fact: str) -> None:
    assert judged(said, section, value) == [fact]


def test_a_single_field_is_judged_by_its_name() -> None:
    assert judged("做前端", "work", "2020-01", "startDate") == ["2020-01"]
    assert judged("做前端", "work", "腾讯", "name") == ["腾讯"]
    assert judged("做前端", "work", ["提升 30%", "改版"], "highlights") == ["30%"]


def test_counts_are_known_besides() -> None:
    known = Known.of(["polish it"], today=TODAY, counts=[4])
    assert unsaid("basics", None, {"summary": "Worked for 4 companies"}, known) == []
