"""Every fact of a full resume is in every format, in both languages and both looks."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from mcp_tools.resume import JsonObject, Language, load_resume
from mcp_tools.resume.export import Format, Template, render
from tests.support.export_readers import WITHOUT_SPACES, Html, read
from tests.support.full_resumes import CHINESE, ENGLISH
from tests.support.official_schema import OFFICIAL

READABLE: tuple[Format, ...] = ("md", "html", "docx", "pdf")
TEMPLATES: tuple[Template, ...] = ("classic", "modern")
PERIODS: dict[str, tuple[str, ...]] = {
    "zh": (
        *("2021.07 – 至今", "2017.07 – 2021.06", "2020.03 – 2022.11", "2014.09 – 2017.06"),
        *("2010.09 – 2014.06", "2022.05.14", "2023.01", "2019.10 – 2020.10"),
    ),
    "en": (
        *("Mar 2019 – Present", "Sep 2015 – Feb 2019", "Jan 2018 – Jun 2021"),
        *("Sep 2011 – Jun 2015", "7 Nov 2021", "Oct 2022", "2020", "Jan 2016 – Dec 2018"),
    ),
}
HEADINGS: dict[str, tuple[str, ...]] = {
    "zh": (
        *("个人简介", "工作经历", "项目经历", "教育经历", "技能", "语言能力", "证书", "奖项"),
        *("出版物", "志愿者经历", "兴趣爱好", "推荐人", "成绩：", "课程：", "关键词："),
    ),
    "en": (
        *("Summary", "Work Experience", "Projects", "Education", "Skills", "Languages"),
        *("Certificates", "Awards", "Publications", "Volunteer Experience", "Interests"),
        *("References", "Score: ", "Courses: ", "Keywords: "),
    ),
}


def facts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a document with the names of their fields."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from facts(inner, name) if name != "meta" else ()
    elif isinstance(value, list):
        for inner in value:
            yield from facts(inner, field)
    else:
        for line in str(value).split("\n"):
            yield field, line


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("format", READABLE)
@pytest.mark.parametrize(("language", "document"), [("zh", CHINESE), ("en", ENGLISH)])
def test_every_fact_is_there(
    language: Language, document: JsonObject, format: Format, template: Template
) -> None:
    content = render(load_resume(document), format, template=template).content
    text, links = read(format, content)
    wanted = [*PERIODS[language], *HEADINGS[language]]
    for field, fact in facts(document):
        if field == "url":
            assert {fact, fact.removesuffix("/")} & {link.removesuffix("/") for link in links}
            wanted.append(fact.removeprefix("https://").removesuffix("/"))
        elif field == "network" and format in ("docx", "pdf"):
            assert fact.lower() in text.lower()
        elif field != "image" and not field.lower().endswith("date"):
            wanted.append(fact)
    assert [fact for fact in wanted if WITHOUT_SPACES.sub("", fact) not in text] == []
    assert f"mailto:{document['basics']['email']}" in links  # type: ignore[index,call-overload]


@pytest.mark.parametrize("document", [CHINESE, ENGLISH, {}])
def test_json_is_the_document_and_can_be_loaded_again(document: JsonObject) -> None:
    resume = load_resume({**document, "x-tool": {"theme": "even"}})
    content = render(resume, "json").content
    OFFICIAL.validate(json.loads(content))
    assert load_resume(json.loads(content)) == resume
    assert render(load_resume(json.loads(content)), "json").content == content
    assert "林晓雨".encode() in content or document is not CHINESE


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("format", ("json", *READABLE))
def test_the_same_resume_gives_the_same_bytes(format: Format, template: Template) -> None:
    first, second = (render(load_resume(CHINESE), format, template=template) for _ in range(2))
    assert first == second
    assert first.suffix == f".{format}"


@pytest.mark.parametrize(
    ("format", "start", "media_type"),
    [
        ("json", b"{", "application/json"),
        ("md", b"# ", "text/markdown; charset=utf-8"),
        ("html", b"<!DOCTYPE html>", "text/html; charset=utf-8"),
        (
            *("docx", b"PK"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("pdf", b"%PDF-", "application/pdf"),
    ],
)
def test_a_file_knows_what_it_is(format: Format, start: bytes, media_type: str) -> None:
    rendered = render(load_resume(ENGLISH), format)
    assert rendered.content.startswith(start)
    assert rendered.media_type == media_type


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(
    ("document", "shown"),
    [
        ({}, "Resume"),
        ({"basics": {"name": "张三"}}, "张三"),
        ({"work": [{"name": "Google"}]}, "Resume WorkExperience Google"),
        ({"skills": [{"keywords": ["Go", "C"]}]}, "Resume Skills Go,C"),
        ({"references": [{"reference": "Calm."}]}, "Resume References Calm."),
        ({"work": [{"location": "Rome"}]}, "Resume WorkExperience Rome"),
    ],
)
@pytest.mark.parametrize("format", READABLE)
def test_missing_fields_leave_no_stray_separators(
    format: Format, document: JsonObject, shown: str, template: Template
) -> None:
    text, links = read(format, render(load_resume(document), format, template=template).content)
    assert text == WITHOUT_SPACES.sub("", shown)
    assert links == set()


@pytest.mark.parametrize("format", READABLE)
def test_unknown_fields_and_kinds_do_not_break_a_page(format: Format) -> None:
    document: JsonObject = {
        "basics": {"name": "A", "nick": ["a"], "location": {"planet": 3}},
        "work": [
            {"name": "B", "team": {"size": 3}, "keywords": [1, None], "startDate": "long ago"}
        ],
        "x-tool": {"theme": "even"},
        "skills": None,
    }
    text, _ = read(format, render(load_resume(document), format).content)
    assert "longago–Present" in text


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_is_accessible_and_loads_nothing(language: Language, template: Template) -> None:
    content = render(load_resume(ENGLISH), "html", template=template, language=language).content
    page = Html(content.decode())
    assert ("lang", "zh-Hans" if language == "zh" else "en") in page.attributes
    headings = [int(tag[1]) for tag in page.tags if tag in ("h1", "h2", "h3", "h4")]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert {"main", "header", "section", "article", "title"} <= set(page.tags)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & set(page.tags)
    assert not {"src", "style", "srcset", "onclick"} & {name for name, _ in page.attributes}
    assert "url(" not in content.decode()
    assert "@import" not in content.decode()
    assert "@media print" in content.decode()
