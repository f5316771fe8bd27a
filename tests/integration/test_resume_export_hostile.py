"""What a resume says is text in every format: never markup, code or an address to run."""

import io
import json
import re
import time
import zipfile
from xml.etree import ElementTree

import docx
import pytest

from mcp_tools.resume import JsonObject, load_resume
from mcp_tools.resume.export import Format, Template, render
from tests.support.export_readers import WITHOUT_SPACES, Html, markdown_tokens, pdf_pages, read
from tests.support.official_schema import OFFICIAL

READABLE: tuple[Format, ...] = ("md", "html", "docx", "pdf")
TEMPLATES: tuple[Template, ...] = ("classic", "modern")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title><!-- ",
    "]]> &lt;b&gt; &#60; %3Cb%3E",
    "{{ 7*7 }} {% raw %} ${7*7}",
    '#read("/etc/passwd") #import "x.typ": * #panic() #{1+1}',
    "$x^2$ *bold* _emphasis_ @ref <label> `raw` ~ // gone /* gone */ -- ---",
    "\\ \\# \\u{41} \\n \\textbf{x} \\input{x}",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "2) item",
    "> quote",
    "===",
    "---",
    "```code",
    "    indented",
    "| a | b |",
    "[link](javascript:alert(1)) ![image](https://evil.example/x.png)",
    "[ref]: https://evil.example",
    "<https://evil.example> <!doctype>",
    "~~~struck~~~ **bold** __bold__ \\* a_b_c",
    "=1+1 @SUM(A1)",
    "שלום עולם مرحبا",
    "ffi ﬁ e\u0301 Z\u030cluťoučký",
)
EVERYWHERE = (" ".join(HOSTILE[:8]), " ".join(HOSTILE[8:]))
"""In two parts, so that a resume that says one in all places is no larger than one may be."""
NOT_SHOWN = "\x00\x07\x08\x1b\x7f\x9b\u202e\u2066\ufeff\uffff"


def filled(text: str) -> JsonObject:
    """A resume that says one thing everywhere."""
    entry: JsonObject = {
        **dict.fromkeys(("name", "position", "location", "description", "summary"), text),
        **dict.fromkeys(("institution", "area", "studyType", "score", "organization"), text),
        **dict.fromkeys(("title", "awarder", "issuer", "publisher", "level", "language"), text),
        **dict.fromkeys(("fluency", "reference", "entity", "type", "network", "username"), text),
        **dict.fromkeys(("url", "startDate", "endDate", "date", "releaseDate"), text),
        **{field: [text] for field in ("highlights", "keywords", "courses", "roles")},
    }
    sections = ("work", "volunteer", "education", "awards", "certificates", "publications")
    others = ("skills", "languages", "interests", "references", "projects")
    basics: JsonObject = {
        **dict.fromkeys(("name", "label", "email", "phone", "url", "summary", "image"), text),
        "location": dict.fromkeys(("address", "postalCode", "city", "countryCode"), text),
        "profiles": [entry],
    }
    return {"basics": basics, **{section: [entry] for section in (*sections, *others)}}


@pytest.mark.parametrize("said", EVERYWHERE, ids=["one half", "the other"])
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("format", READABLE)
def test_markup_of_every_format_is_shown_as_it_was_written(
    format: Format, template: Template, said: str
) -> None:
    text, links = read(format, render(load_resume(filled(said)), format, template=template).content)
    shown = said.partition("שלום")[0]
    assert text.count(WITHOUT_SPACES.sub("", shown)) > 40
    assert links == set()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_line_of_markup_makes_no_element_of_html_or_markdown(hostile: str) -> None:
    def shape(text: str) -> tuple[list[str], list[str]]:
        resume = load_resume(filled(text))
        page = Html(render(resume, "html", language="en").content.decode())
        tokens = markdown_tokens(render(resume, "md", language="en").content)
        return page.tags, [token.type for token in tokens if token.type != "text"]

    assert shape(hostile) == shape("words")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,<b>", "JAVASCRIPT:x", "vbscript:x", "file:///x"]
)
@pytest.mark.parametrize("format", READABLE)
def test_an_address_that_a_reader_would_run_is_text(format: Format, url: str) -> None:
    document: JsonObject = {
        "basics": {"url": url, "profiles": [{"network": "X", "username": "x", "url": url}]},
        "work": [{"name": "A", "url": url}],
    }
    text, links = read(format, render(load_resume(document), format).content)
    assert text.count(WITHOUT_SPACES.sub("", url)) == 3
    assert links == set()


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("format", READABLE)
def test_control_characters_and_overrides_are_dropped(format: Format, template: Template) -> None:
    resume = load_resume(filled(f"be{NOT_SHOWN}fore\nafter 👩‍💻🎉 \ud83d end"))
    text, _ = read(format, render(resume, format, template=template).content)
    assert text.count("before") > 20
    assert not set(NOT_SHOWN) & set(text)


def test_json_holds_even_what_is_no_character() -> None:
    document: JsonObject = {"basics": {"name": f"a{NOT_SHOWN}"}, "x": "\ud83d"}
    resume = load_resume(document)
    exported = json.loads(render(resume, "json").content)
    OFFICIAL.validate(exported)
    assert load_resume(exported) == resume


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(
    "text", ["x" * 99_900, "支付" * 49_950, "word " * 19_980, "https://a.org/" * 7000]
)
@pytest.mark.parametrize("format", READABLE)
def test_very_long_text_is_there_in_full(format: Format, text: str, template: Template) -> None:
    document: JsonObject = {
        "basics": {"summary": text},
        "work": [{"name": "A", "highlights": [text]}],
    }
    started = time.monotonic()
    shown, _ = read(format, render(load_resume(document), format, template=template).content)
    assert shown.count(text.strip()[:2]) >= 2
    assert len(shown) > 2 * len(WITHOUT_SPACES.sub("", text)) - 200
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("format", READABLE)
def test_two_hundred_entries_in_a_section_all_come(format: Format, template: Template) -> None:
    document: JsonObject = {
        "work": [
            {"name": f"Company-{i}.", "startDate": "2020", "highlights": ["x"]} for i in range(200)
        ],
        "skills": [{"name": f"Skill-{i}.", "keywords": ["y"]} for i in range(200)],
    }
    text, _ = read(format, render(load_resume(document), format, template=template).content)
    assert set(re.findall(r"Company-(\d+)\.", text)) == {str(i) for i in range(200)}
    assert set(re.findall(r"Skill-(\d+)\.", text)) == {str(i) for i in range(200)}


@pytest.mark.parametrize("template", TEMPLATES)
def test_text_without_spaces_stays_on_the_paper(template: Template) -> None:
    document: JsonObject = {
        "basics": {
            **dict.fromkeys(("name", "label", "phone"), "n" * 300),
            "url": "https://a.org/" + "u" * 1500,
            "profiles": [{"network": "w" * 90, "username": "v" * 200}],
        },
        "work": [dict.fromkeys(("name", "position", "location", "startDate"), "p" * 300)],
        "skills": [{"name": "s" * 200, "level": "l" * 200, "keywords": ["k" * 300]}],
    }
    for page in pdf_pages(render(load_resume(document), "pdf", template=template).content):
        assert page.left > 20
        assert page.right < page.width - 20


@pytest.mark.parametrize("said", EVERYWHERE, ids=["one half", "the other"])
def test_a_document_of_word_is_well_formed_whatever_it_says(said: str) -> None:
    content = render(load_resume(filled(said + NOT_SHOWN)), "docx").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.endswith((".xml", ".rels")):
                ElementTree.fromstring(archive.read(name))
    properties = docx.Document(io.BytesIO(content)).core_properties
    assert properties.author == " ".join(said.split())[:255]
