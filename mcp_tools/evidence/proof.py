"""Statements of an article tied to passages of the pages that were read. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from .facts import Facts, facts_of, figures_of
from .pages import Page, Passage
from .quotations import plain, stands_in
from .statements import Statement

_ALIKE = 0.6
"""Share of common words from which on two passages speak of the same."""
_SAME_STATEMENT = 0.5
_LEAST_WORDS = 4
_MOST_CONTRADICTIONS = 20


class Claim(BaseModel):
    """What an article says, and the passage that says it."""

    model_config = ConfigDict(frozen=True)

    claim: str
    quotation: str | None = None
    """Stands in the page, word for word."""
    source: str | None = None
    """The address of the page."""
    title: str | None = None
    date: str | None = None
    """When the page was published."""
    found: bool = False


@dataclass(frozen=True)
class Contradiction:
    """Two passages that speak of the same with different figures."""

    one: Claim
    other: Claim


@dataclass(frozen=True)
class Unproven:
    """A statement of which something stands in no page."""

    statement: Statement
    what: tuple[str, ...]
    """What was not found, as it is written."""


@dataclass(frozen=True)
class Proof:
    """What became of the statements of an article."""

    claims: tuple[Claim, ...]
    unproven: tuple[Unproven, ...]
    contradictions: tuple[Contradiction, ...]


def prove(
    statements: Iterable[Statement],
    pages: Sequence[Page],
    *,
    noted: Sequence[Claim] = (),
    earlier: Sequence[Claim] = (),
    sources: Mapping[str, str] | None = None,
    known: Sequence[Page] = (),
) -> Proof:
    """Tie statements to passages.

    Args:
        statements: Of the article.
        pages: That were read.
        noted: Claims that its author has noted; those whose quotation stands in its page count.
        earlier: Claims that were proven when an earlier version was made.
        sources: Addresses of the article's sources by id; a passage of a cited one is preferred.
        known: Other texts that may say it: the request, files.
    """
    sound = [*earlier, *(one for one in noted if is_sound(one, pages))]
    claims: list[Claim] = []
    unproven: list[Unproven] = []
    for one in statements:
        proven = _noted(one, sound) or _found(one, [*pages, *known], sources or {})
        if proven is not None:
            claims.append(proven)
        elif missing := _missing(one.facts, one.text, [*pages, *known], sound):
            claims.append(Claim(claim=one.text))
            unproven.append(Unproven(one, tuple(missing)))
        else:
            claims += _in_parts(one, pages)
    used = {one.quotation for one in claims}
    told = (*claims, *(one for one in sound if one.quotation not in used))
    return Proof(told, tuple(unproven), tuple(_contradictions(told, pages)))


def is_sound(claim: Claim, pages: Sequence[Page]) -> bool:
    """Return whether the quotation of a claim stands in the page that it names."""
    return any(
        page.has_address(claim.source or "") and stands_in(claim.quotation or "", page.plain)
        for page in pages
    )


def _noted(statement: Statement, noted: Sequence[Claim]) -> Claim | None:
    for one in noted:
        told = facts_of(f"{one.claim} {one.quotation}")
        if statement.facts.figures <= told.figures and (
            _share(statement.facts.words, facts_of(one.claim).words) >= _SAME_STATEMENT
        ):
            return one.model_copy(update={"claim": statement.text, "found": True})
    return None


def _found(statement: Statement, pages: Sequence[Page], sources: Mapping[str, str]) -> Claim | None:
    """The passage that has all of a statement, and of several the one that is most like it."""
    cited = [sources[one] for one in statement.cites if sources.get(one)]
    best: tuple[tuple[bool, int], Page, Passage] | None = None
    for page in pages:
        is_cited = any(page.has_address(url) for url in cited)
        for passage in page.windows if statement.facts.figures <= page.figures else ():
            if _says(passage, statement.facts):
                rank = (is_cited, len(passage.facts.words & statement.facts.words))
                if best is None or rank > best[0]:
                    best = rank, page, passage
    return None if best is None else _claim(statement.text, best[1], best[2])


def _in_parts(statement: Statement, pages: Sequence[Page]) -> Iterator[Claim]:
    """Yield the passages that together have the figures of a statement."""
    left = set(statement.facts.figures)
    of_page = [(page, one) for page in pages if page.figures & left for one in page.passages]
    while left and of_page:
        page, passage = max(
            of_page,
            key=lambda one: (
                len(left & one[1].facts.figures),
                len(one[1].facts.words & statement.facts.words),
            ),
        )
        if not left & passage.facts.figures:
            return
        left -= passage.facts.figures
        yield _claim(statement.text, page, passage)


def _says(passage: Passage, facts: Facts) -> bool:
    if not facts.figures <= passage.facts.figures:
        return False
    if not facts.names and not facts.quoted:
        return True
    text = plain(passage.text)
    return all(plain(one) in text for one in (*facts.names, *facts.quoted))


def _missing(facts: Facts, text: str, pages: Sequence[Page], noted: Sequence[Claim]) -> list[str]:
    """What stands in no page at all, as it is written."""
    told = {figure for page in pages for figure in page.figures}
    told |= {figure for one in noted for figure, _ in figures_of(one.quotation or "")}
    missing = [written for figure, written in figures_of(text) if figure not in told]
    names = () if any(page.is_chinese for page in pages) else facts.names
    texts = [*(page.plain for page in pages), *(plain(one.quotation or "") for one in noted)]
    for one in (*names, *facts.quoted):
        if all(plain(one) not in text for text in texts):
            missing.append(one)
    return list(dict.fromkeys(missing))


def _claim(text: str, page: Page, passage: Passage) -> Claim:
    return Claim(
        claim=text,
        quotation=passage.text,
        source=page.url,
        title=page.title,
        date=page.published,
        found=True,
    )


def _contradictions(claims: Sequence[Claim], pages: Sequence[Page]) -> Iterator[Contradiction]:
    seen: set[frozenset[str]] = set()
    for claim in claims:
        if claim.quotation is None or len(seen) >= _MOST_CONTRADICTIONS:
            continue
        mine = Passage(claim.quotation)
        for page in pages:
            if page.has_address(claim.source or ""):
                continue
            for passage in page.passages:
                pair = frozenset({claim.quotation, passage.text})
                if pair not in seen and _contradict(mine.facts, passage.facts):
                    seen.add(pair)
                    yield Contradiction(claim, _claim(claim.claim, page, passage))


def _contradict(one: Facts, other: Facts) -> bool:
    if not one.figures or not other.figures or min(len(one.words), len(other.words)) < _LEAST_WORDS:
        return False
    years = _years(one), _years(other)
    if years[0] != years[1] or one.figures <= other.figures or other.figures <= one.figures:
        return False
    return _share(one.words, other.words) >= _ALIKE and _share(other.words, one.words) >= _ALIKE


def _years(facts: Facts) -> frozenset[str]:
    return frozenset(one for one in facts.figures if len(one) == 4 and one[:2] in ("19", "20"))


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / len(words) if words else 0.0
