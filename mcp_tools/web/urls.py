"""URLs of pages: one reading for the check, the cache and the connection."""

import httpx

from mcp_tools.web.errors import UrlRefusedError
from oda.public_network import urls
from oda.public_network.errors import UrlNotPlainError
from oda.public_network.urls import MAX_URL


def parse_url(text: str) -> httpx.URL:
    """Return the URL of a page, normalised, without its fragment.

    Raises:
        UrlRefusedError: when it is not plainly `http://host/…` or `https://host/…`.
    """
    try:
        return urls.parse_url(text)
    except UrlNotPlainError as error:
        raise UrlRefusedError(str(error)) from error


def join_url(base: httpx.URL, location: str) -> httpx.URL:
    """Return the target of a redirect.

    Raises:
        UrlRefusedError: see `parse_url`.
    """
    try:
        joined = str(base.join(location))
    except httpx.InvalidURL as error:
        raise UrlRefusedError(f"the page leads on to {location[:MAX_URL]!r}: {error}") from error
    return parse_url(joined)
