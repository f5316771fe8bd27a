"""What a reader sees of a resume: periods, links, headings, and nothing where nothing is."""

import pytest

from mcp_tools.resume import JsonObject, Language, load_resume
from mcp_tools.resume.export.links import mail_link, web_link
from mcp_tools.resume.export.page import Page, page_of
from mcp_tools.resume.export.periods import date_text, period_text
from mcp_tools.resume.export.text import has_cjk, language_of, lines


def page(document: JsonObject, language: Language | None = None) -> Page:
    return page_of(load_resume(document), language)


@pytest.mark.parametrize(
    ("start", "end", "zh", "en"),
    [
        ("2021-07", "", "2021.07 – 至今", "Jul 2021 – Present"),
        ("2019-03", "2021-06", "2019.03 – 2021.06", "Mar 2019 – Jun 2021"),
        ("2019", "2021", "2019 – 2021", "2019 – 2021"),
        ("2019-03-09", "2019-12-31", "2019.03.09 – 2019.12.31", "9 Mar 2019 – 31 Dec 2019"),
        ("", "2021-06", "2021.06", "Jun 2021"),
        ("2020", "2020", "2020", "2020"),
        ("long ago", "2021", "long ago – 2021", "long ago – 2021"),
        ("", "", "", ""),
    ],
)
def test_a_period_reads_well_in_both_languages(start: str, end: str, zh: str, en: str) -> None:
    assert (period_text(start, end, "zh"), period_text(start, end, "en")) == (zh, en)


@pytest.mark.parametrize("odd", ["2021-13", "2021-00", "21-07", "spring 2021"])
def test_what_is_no_date_is_shown_as_it_was_written(odd: str) -> None:
    assert date_text(odd, "en") == odd


@pytest.mark.parametrize(
    ("written", "shown", "url"),
    [
        ("https://a.org/x/", "a.org/x", "https://a.org/x/"),
        ("HTTP://a.org", "a.org", "HTTP://a.org"),
        ("github.com/lin", "github.com/lin", "https://github.com/lin"),
        ("mailto:a@b.org", "a@b.org", "mailto:a@b.org"),
        ("https://a.org/简历", "a.org/简历", "https://a.org/%E7%AE%80%E5%8E%86"),
        ('https://a.org/"><b>', 'a.org/"><b>', "https://a.org/%22%3E%3Cb%3E"),
        ("https://a.org/(x)", "a.org/(x)", "https://a.org/%28x%29"),
    ],
)
def test_a_web_address_becomes_a_link(written: str, shown: str, url: str) -> None:
    link = web_link(written)
    assert (link.text, link.url) == (shown, url)


@pytest.mark.parametrize(
    "written",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "data:text/html,<script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.org/x",
        "https:///nowhere",
        "https://a b.org",
        "https://a.org\\@evil.org",
        "https://[broken",
        "mailto:nobody",
        "ask me",
        "https://a.org/" + "x" * 5000,
    ],
)
def test_any_other_address_stays_text(written: str) -> None:
    link = web_link(written)
    assert (link.text, link.url) == (written, "")


def test_only_an_email_address_becomes_a_mail_link() -> None:
    assert mail_link("lin+cv@a.org").url == "mailto:lin+cv@a.org"
    assert [
        mail_link(odd).url for odd in ("lin at a.org", 'a@b.org" x="', "a@b.org?cc=c@d.e f")
    ] == [
        "",
        "",
        "",
    ]


def test_the_language_is_that_of_most_of_the_text() -> None:
    assert page({"basics": {"name": "张三"}}).language == "zh"
    assert (
        page({"work": [{"name": "腾讯", "summary": "Built payment systems at scale"}]}).language
        == "en"
    )
    assert (
        page({"work": [{"summary": "用 React、TypeScript、Node.js 开发前端应用"}]}).language == "zh"
    )
    assert page({}).language == "en"
    assert language_of(["https 12345 +86"]) == "en"


def test_a_given_language_wins_and_names_the_sections() -> None:
    document: JsonObject = {
        "basics": {"summary": "x"},
        "work": [{"name": "A", "startDate": "2020"}],
    }
    chinese, english = page(document, "zh"), page(document, "en")
    assert (chinese.about, chinese.parts[0].heading) == ("个人简介", "工作经历")
    assert (english.about, english.parts[0].heading) == ("Summary", "Work Experience")
    assert chinese.parts[0].items[0].period == "2020 – 至今"


def test_sections_come_in_the_order_of_a_reader() -> None:
    sections: JsonObject = {
        "references": [{"name": "R"}],
        "skills": [{"name": "S"}],
        "education": [{"institution": "E"}],
        "projects": [{"name": "P"}],
        "work": [{"name": "W"}],
    }
    names = [part.section for part in page(sections).parts]
    assert names == ["work", "projects", "education", "skills", "references"]


def test_who_has_not_worked_yet_is_shown_by_what_they_study() -> None:
    document: JsonObject = {"projects": [{"name": "P"}], "education": [{"institution": "E"}]}
    assert [part.section for part in page(document).parts] == ["education", "projects"]


def test_empty_sections_entries_and_fields_leave_no_trace() -> None:
    shown = page(
        {
            "basics": {"name": "", "location": {}, "profiles": [{}], "phone": "  "},
            "work": [],
            "education": [{}, {"institution": " "}],
            "skills": [{"keywords": []}],
        }
    )
    assert (shown.heading, shown.name, shown.contacts, shown.parts) == ("Resume", "", (), ())


def test_an_entry_without_its_name_is_shown_by_what_it_has() -> None:
    work = page({"work": [{"position": "SRE"}, {"startDate": "2020-01"}]}).parts[0]
    assert [(item.title, item.subtitle) for item in work.items] == [("SRE", ""), ("", "")]
    assert work.items[1].period == "Jan 2020 – Present"


def test_an_address_starts_with_the_largest_part_in_chinese_and_the_smallest_in_english() -> None:
    place: JsonObject = {
        "basics": {"location": {"city": "London", "region": "England", "address": "1 St"}}
    }
    assert page(place, "en").contacts[0].link.text == "1 St, London, England"
    assert page(place, "zh").contacts[0].link.text == "England，London，1 St"
    twice: JsonObject = {"basics": {"location": {"city": "上海", "region": "上海"}}}
    assert page(twice).contacts[0].link.text == "上海"


def test_a_profile_shows_its_address_and_a_user_name_that_the_address_does_not_tell() -> None:
    profiles: JsonObject = {
        "basics": {
            "profiles": [
                {"network": "GitHub", "username": "lin", "url": "https://github.com/lin"},
                {"network": "LinkedIn", "username": "Lin X", "url": "https://linkedin.com/in/7"},
                {"network": "WeChat", "username": "lin-x"},
                {"network": "Mastodon"},
                {"url": "javascript:alert(1)"},
            ]
        }
    }
    shown = [(each.label, each.link.text, each.link.url) for each in page(profiles, "en").contacts]
    assert shown == [
        ("GitHub", "github.com/lin", "https://github.com/lin"),
        ("LinkedIn", "Lin X (linkedin.com/in/7)", "https://linkedin.com/in/7"),
        ("WeChat", "lin-x", ""),
        ("Mastodon", "Mastodon", ""),
        ("Profiles", "javascript:alert(1)", ""),
    ]


def test_text_loses_what_no_format_can_hold_and_keeps_its_lines() -> None:
    assert lines("a\x00\x07\x1b[31m b\r\n\r\n\u202ec\u2028\ufeffd\ud800\te\uffff") == (
        "a[31m b",
        "c",
        "d e",
    )
    assert lines("👩\u200d💻 שלום") == ("👩\u200d💻 שלום",)


@pytest.mark.parametrize("text", ["简", "かな", "한글", "，", "𠮷"])
def test_cjk_text_is_known(text: str) -> None:
    assert has_cjk(text)
    assert not has_cjk("Zoë – “naïve” Ωμέγα")
