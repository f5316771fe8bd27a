"""URLs of pages: one reading for the check, the cache and the connection."""

import httpx

from mcp_tools.web.errors import UrlRefusedError

MAX_URL = 2000


def parse_url(text: str) -> httpx.URL:
    """The URL of a page, normalised, without its fragment.

    Raises:
        UrlRefusedError: when it is not plainly `http://host/…` or `https://host/…`.
    """
    written = text.strip()
    if len(written) > MAX_URL:
        raise UrlRefusedError(f"the URL is longer than {MAX_URL} characters")
    if any(character.isspace() or character == "\\" for character in written):
        raise UrlRefusedError(f"{written!r} holds spaces or backslashes: write it percent-encoded")
    try:
        url = httpx.URL(written)
        url = url.copy_with(fragment=None, raw_path=url.raw_path)
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise UrlRefusedError(f"{written!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https"):
        raise UrlRefusedError(f"{written!r} is refused: only http and https URLs are fetched")
    if "@" in written.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]:
        raise UrlRefusedError("a URL with a user name is refused: give the host alone")
    if not host or "%" in host or (url.port is not None and not 0 < url.port < 2**16):
        raise UrlRefusedError(f"{written!r} names no host, or no port")
    return url


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
