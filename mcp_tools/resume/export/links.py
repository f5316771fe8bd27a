"""Addresses that may become links: web and mail, nothing that a reader's machine would run."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_BARE = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[/?#]\S*)?", re.IGNORECASE)
_MAIL = re.compile(r"[^@\s,;:<>\"'()\\]+@[^@\s,;:<>\"'()\\]+\.[^@\s,;:<>\"'()\\]+")
_LONGEST = 2000
"""In characters; some readers refuse longer addresses."""

_NOT_ESCAPED = "%/:=&?~#+!$,;@[]"


@dataclass(frozen=True)
class Link:
    """Displayed text with its address; `url` is empty if there is no safe one."""

    text: str
    url: str = ""


def web_link(text: str) -> Link:
    """Make a link of an address as people write it: `https://a.org/x`, `a.org/x`, `mailto:a@b.c`.

    Anything else, such as `javascript:…`, becomes plain text.
    """
    address = f"https://{text}" if _BARE.fullmatch(text) else text
    url = quote(address, safe=_NOT_ESCAPED)
    if not _is_safe(address) or len(url) > _LONGEST:
        return Link(text)
    shown = re.sub(r"^(?:https?://|mailto:)", "", text, flags=re.IGNORECASE)
    return Link(shown.removesuffix("/"), url)


def mail_link(text: str) -> Link:
    """Return a link to an e-mail address; a text that is not one stays text."""
    url = f"mailto:{quote(text, safe='@+')}"
    return Link(text, url if _MAIL.fullmatch(text) and len(url) <= _LONGEST else "")


def _is_safe(address: str) -> bool:
    if re.search(r"[\s\\]", address):
        return False
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return False
    if parts.scheme == "mailto":
        return _MAIL.match(parts.path) is not None
    return parts.scheme in ("http", "https") and bool(host)
