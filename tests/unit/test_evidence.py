"""Statements tied to passages of pages: figures, names, quotations, contradictions."""

from time import perf_counter

import pytest

from mcp_tools.evidence import Claim, Page, Proof, prove, stands_in, statements_of
from mcp_tools.evidence.facts import facts_of
from mcp_tools.evidence.quotations import plain
from mcp_tools.evidence.statements import sources_of
from mcp_tools.publishing.tree import parse

OTTERS = Page(
    url="https://otters.org/fur",
    title="The sea otter",
    published="2024-03-05",
    text="# The sea otter\n\nThe sea otter has the densest fur, with up to 150,000 hairs per "
    "square centimetre. In 2023 the Otter Survey Team counted 2,962 otters along the coast of "
    "California.\n\n| Year | Otters |\n| 2022 | 2841 |",
)
OTHER = Page(
    url="https://coast.gov/count",
    title="Counts",
    text="In 2023 the team counted 3,090 otters along the coast of California.",
)
TEA = Page(
    url="https://tea.cn/lj", title="龙井", text="龙井茶已有一千二百余年历史。2023年产量为2.5万吨。"
)


def proof_of(html: str, *pages: Page, **more: object) -> Proof:
    root = parse(html)
    return prove([*statements_of(root)], pages, sources=sources_of(root), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("up to 150,000 hairs", {"150000"}),
        ("1.2 million tonnes and 3 %", {"1200000", "3"}),
        ("产量为2.5万吨，增长12%", {"25000", "12"}),
        ("on 5 March 2024", {"5", "2024", "3"}),
        ("2024年3月5日", {"2024", "3", "5"}),
        ("version B12 of the A4 sheet", set()),
        ("no figures at all", set()),
    ],
)
def test_figures_have_one_form(text: str, figures: set[str]) -> None:
    assert facts_of(text).figures == figures


@pytest.mark.parametrize(
    ("quotation", "stands"),
    [
        ("up to 150,000 hairs per square centimetre", True),
        ("Up to 150000 hairs  per square centimetre.", True),
        ("The sea otter … 150,000 hairs", True),
        ("150,000 hairs … The sea otter has", False),
        ("up to 160,000 hairs per square centimetre", False),
        ("the fur is dense", False),
        ("", False),
        ("…", False),
    ],
)
def test_a_quotation_stands_in_its_page_or_not(quotation: str, stands: bool) -> None:
    assert stands_in(quotation, OTTERS.plain) is stands


def test_a_statement_is_tied_to_the_passage_that_says_it() -> None:
    (claim,) = proof_of(
        "<h1>x</h1><p>Up to 150,000 hairs grow on a square centimetre.</p>", OTTERS
    ).claims
    assert claim.found
    assert claim.quotation is not None
    assert stands_in(claim.quotation, OTTERS.plain)
    assert (claim.source, claim.title, claim.date) == (OTTERS.url, OTTERS.title, "2024-03-05")


def test_what_stands_in_no_page_is_told() -> None:
    proof = proof_of("<p>There are 2,962 otters, and 70 % of them eat clams.</p>", OTTERS)
    (missing,) = proof.unproven
    assert missing.what == ("70",)
    assert [one.found for one in proof.claims] == [False]


def test_names_and_quotations_are_looked_for_as_well() -> None:
    html = (
        "<p>It was counted by the Otter Survey Team.</p><p>It was done by the Seal Survey Team.</p>"
    )
    assert [one.what for one in proof_of(html, OTTERS).unproven] == [("Seal Survey Team",)]
    html = "<p>“The densest fur” it is called.</p><p>They say “the finest of all furs” of it.</p>"
    assert [one.what for one in proof_of(html, OTTERS).unproven] == [("the finest of all furs",)]


def test_the_cited_source_goes_before_another() -> None:
    same = Page(url="https://copy.org/fur", text=OTTERS.text)
    html = (
        '<p>Up to 150,000 hairs.<sup><a href="#s2">[2]</a></sup></p><h2>Sources</h2><ol>'
        f'<li id="s1"><a href="{OTTERS.url}">1</a></li>'
        f'<li id="s2"><a href="{same.url}">2</a></li></ol>'
    )
    (claim,) = proof_of(html, OTTERS, same).claims
    assert claim.source == same.url


def test_chinese_statements_are_tied_and_told() -> None:
    html = "<p>2023年的产量是2.5万吨。</p><p>2022年的产量是3万吨。</p>"
    proof = proof_of(html, TEA)
    assert [one.found for one in proof.claims] == [True, False]
    assert proof.unproven[0].what == ("2022", "3万")


def test_figures_hold_in_another_language() -> None:
    proof = proof_of("<p>In 2023 the harvest of Hangzhou West Lake was 25,000 tonnes.</p>", TEA)
    assert not proof.unproven
    assert proof.claims[0].source == TEA.url


def test_sources_that_contradict_each_other_are_told() -> None:
    proof = proof_of("<p>In 2023 the team counted 2,962 otters along the coast.</p>", OTTERS, OTHER)
    (one,) = proof.contradictions
    assert {one.one.source, one.other.source} == {OTTERS.url, OTHER.url}
    other_year = Page(url=OTHER.url, text=OTHER.text.replace("2023", "2019"))
    html = "<p>In 2023 the team counted 2,962 otters along the coast.</p>"
    assert proof_of(html, OTTERS, other_year).contradictions == ()


def test_a_noted_claim_counts_if_its_quotation_stands_there() -> None:
    html = "<p>The coats of 2962 animals were looked at in 2023.</p>"
    true = Claim(
        claim="The coats of 2962 animals were looked at in 2023.",
        quotation="In 2023 the Otter Survey Team counted 2,962 otters",
        source=OTTERS.url,
    )
    assert proof_of(html, OTTERS, noted=[true]).claims[0].quotation == true.quotation
    lie = true.model_copy(update={"quotation": "In 2023 they counted 9,999 otters"})
    proof = proof_of(html.replace("2962", "9999"), OTTERS, noted=[lie])
    assert [one.found for one in proof.claims] == [False]


def test_long_texts_are_checked_in_time() -> None:
    words = " ".join(
        f"In {1900 + number % 100} there were {number} otters." for number in range(5000)
    )
    pages = [Page(url=f"https://a.org/{number}", text=words) for number in range(5)]
    html = "".join(f"<p>In 1950 there were {number + 10_000} seals.</p>" for number in range(200))
    began = perf_counter()
    assert len(proof_of(html, *pages).unproven) == 200
    assert perf_counter() - began < 20


@pytest.mark.parametrize(
    "text", ["1," * 50_000, "[" * 50_000, "A " * 50_000, "“" * 50_000, "…" * 50_000]
)
def test_hostile_texts_are_read_in_time(text: str) -> None:
    began = perf_counter()
    facts_of(text)
    plain(text)
    stands_in(text, plain(text))
    assert perf_counter() - began < 5
