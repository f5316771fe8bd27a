"""The interface of search engines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

from oda.public_network.urls import MAX_URL

MAX_RESULTS = 20
MAX_TITLE = 300
MAX_SNIPPET = 1000


@dataclass(frozen=True)
class SearchResult:
    """A page that was found; all of it is a stranger's text."""

    title: str
    url: str
    snippet: str
    published: str | None = None
    """A date in ISO format."""


class SearchProvider(Protocol):
    """A search engine."""

    @property
    def name(self) -> str:
        """As it is chosen, such as `searxng`."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """Return the results, best first.

        Raises:
            SearchError: the engine fails or its answer is malformed.
        """
        ...


def results_of(
    rows: object, *, snippet: str, published: str, limit: int, url: str = "url"
) -> list[SearchResult]:
    """The results in an engine's answer, by the names of its fields; broken ones are left out."""
    results: dict[str, SearchResult] = {}
    for row in rows if isinstance(rows, Iterable) else ():
        if len(results) == limit:
            break
        found = _text(row, url) if isinstance(row, Mapping) else ""
        if not found.startswith(("http://", "https://")) or len(found) > MAX_URL:
            continue
        results.setdefault(
            found,
            SearchResult(
                title=_text(row, "title")[:MAX_TITLE] or found,
                url=found,
                snippet=_text(row, snippet)[:MAX_SNIPPET],
                published=iso_date(_text(row, published)),
            ),
        )
    return list(results.values())


def iso_date(text: str) -> str | None:
    """The date in a time of ISO 8601 or of an e-mail header; None for anything else."""
    try:
        return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError):
        return None


def _text(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""
