"""The web, searched and read.

`Web` asks the search engine that is set up (`config`) and reads pages as text. A page is fetched
from public addresses only: `addresses` says which, `connection` checks each at the moment it is
connected to. What a page holds is read in a process of its own (`reader`).
`python -m mcp_tools.web` offers both over MCP.
"""

from .config import WebConfig
from .errors import (
    AddressRefusedError,
    BusyError,
    PageError,
    SearchError,
    SearchNotConfiguredError,
    WebConfigError,
    WebError,
)
from .limits import WebLimits
from .providers import SearchResult
from .reader import Document, Read, Reading
from .web import Page, SearchResults, Web

__all__ = [
    "AddressRefusedError",
    "BusyError",
    "Document",
    "Page",
    "PageError",
    "Read",
    "Reading",
    "SearchError",
    "SearchNotConfiguredError",
    "SearchResult",
    "SearchResults",
    "Web",
    "WebConfig",
    "WebConfigError",
    "WebError",
    "WebLimits",
]
