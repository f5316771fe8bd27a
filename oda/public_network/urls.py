"""URLs of strangers: one reading for checks, caches and connections."""

import httpx

from oda.public_network.errors import UrlNotPlainError

MAX_URL = 2000


def parse_url(text: str) -> httpx.URL:
    """Return a URL, normalised, without its fragment.

    Raises:
        UrlNotPlainError: when it is not plainly `http://host/…` or `https://host/…`.
    """
    written = text.strip()
    if len(written) > MAX_URL:
        raise UrlNotPlainError(f"the URL is longer than {MAX_URL} characters")
    if any(character.isspace() or character == "\\" for character in written):
        raise UrlNotPlainError(f"{written!r} holds spaces or backslashes: write it percent-encoded")
    try:
        url = httpx.URL(written)
        url = url.copy_with(fragment=None, raw_path=url.raw_path)
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise UrlNotPlainError(f"{written!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https"):
        raise UrlNotPlainError(f"{written!r} is refused: only http and https URLs are fetched")
    if "@" in written.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]:
        raise UrlNotPlainError("a URL with a user name is refused: give the host alone")
    if not host or "%" in host or (url.port is not None and not 0 < url.port < 2**16):
        raise UrlNotPlainError(f"{written!r} names no host, or no port")
    return url
