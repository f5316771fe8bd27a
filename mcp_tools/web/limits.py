"""How much of the web is taken at a time."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WebLimits:
    """Sizes in bytes, characters and seconds."""

    results: int = 8
    """Most results of a search, where nothing else is asked for."""
    search_s: float = 20.0
    """Longest search."""
    page_bytes: int = 5_000_000
    """Most bytes of a page, also once unpacked."""
    page_chars: int = 50_000
    """Most characters of a page's text; the rest is cut."""
    page_s: float = 30.0
    """Longest download, with all redirects and waits."""
    connect_s: float = 5.0
    """Longest wait for one address to accept a connection."""
    silence_s: float = 10.0
    """Longest wait for the next bytes."""
    reading_s: float = 8.0
    """After this a page's plain text has to do, without headings and lists."""
    reading_most_s: float = 20.0
    """After this a page is given up."""
    reading_memory_bytes: int = 2**30
    pages_at_once: int = 6
    """Most pages that are downloaded or read at the same time; further ones wait."""
    asks_per_s: float = 1.0
    """How often a search provider is asked on average."""
    pages_per_s: float = 2.0
    """How often one host is asked on average."""
    burst: int = 5
    """How many of either may come at once."""
    longest_wait_s: float = 10.0
    """A call that would have to wait longer for its turn fails."""
    kept_s: float = 900.0
    """How long an answer is kept."""
    kept_searches: int = 256
    kept_pages: int = 64
