"""Web search and retrieval of pages as text.

`Web` queries the configured search engine (`config`) and reads pages as text. Pages are fetched
from public addresses only, over `oda.public_network`, which checks each address when it connects.
Content is parsed in an isolated process (`reader`). `python -m mcp_tools.web` offers both
over MCP.
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
from .reader import Document, Reading
from .web import Page, SearchResults, Web

__all__ = [
    "AddressRefusedError",
    "BusyError",
    "Document",
    "Page",
    "PageError",
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
