"""Images inside of the page that shows them, as data URIs."""

import posixpath
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from enum import Enum
from urllib.parse import unquote, unquote_to_bytes

from .svg import clean_svg, is_svg

Resolve = Callable[[str], bytes | None]
"""Returns the content of a file by its path relative to the article's folder; None if missing."""

MAX_IMAGE_BYTES = 5 * 2**20
MAX_TOTAL_BYTES = 20 * 2**20
_DATA_URI = re.compile(r"data:[^,]*,", re.IGNORECASE)
_REMOTE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//|\s*[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_FOLDER = "output/"


class LeftOut(Enum):
    """Why an image is not shown."""

    REMOTE = "remote"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too large"


class Images:
    """The images of one page, which together have a limit."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._left = MAX_TOTAL_BYTES
        self._known: dict[bytes, tuple[str, bytes] | None] = {}

    def inline(self, source: str) -> str | LeftOut:
        """Return an image as a data URI, with the type detected from its bytes."""
        data = self._read(source)
        if isinstance(data, LeftOut):
            return data
        if len(data) > min(MAX_IMAGE_BYTES, self._left):
            return LeftOut.TOO_LARGE
        if data not in self._known:
            self._known[data] = _shown(data)
        if (known := self._known[data]) is None:
            return LeftOut.UNREADABLE
        kind, shown = known
        self._left -= len(shown)
        return f"data:{kind};base64,{b64encode(shown).decode()}"

    def _read(self, source: str) -> bytes | LeftOut:
        if _DATA_URI.match(source.lstrip()):
            return _decoded(source.strip())
        if _REMOTE.match(source) and not source.strip().lower().startswith(("file:", "sandbox:")):
            return LeftOut.REMOTE
        for name in names_of(source):
            if (data := self._resolve(name)) is not None:
                return data
        return LeftOut.MISSING


def names_of(reference: str) -> list[str]:
    """The files that a reference may mean. Models write paths from the folder of the article, from
    the one above it, or from where their code has run."""
    path = unquote(re.sub(r"^\s*(?:file|sandbox):", "", reference, flags=re.IGNORECASE).strip())
    path = re.split(r"[?#]", path, maxsplit=1)[0].replace("\\", "/")
    path = posixpath.normpath(path.lstrip("/")).removeprefix("../") if path.strip("/") else "."
    if path == "." or path.startswith("../") or path == ".." or "\0" in path:
        return []
    inside = path.rpartition(f"/{_FOLDER}")[2].removeprefix(_FOLDER)
    return list(dict.fromkeys([path, inside]))


def image_type(data: bytes) -> str | None:
    """The media type by the first bytes; None for what pages do not show."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/svg+xml" if is_svg(data) else None


def _shown(data: bytes) -> tuple[str, bytes] | None:
    """The media type of an image and what pages may hold of it; None if it cannot be shown."""
    kind = image_type(data)
    shown = clean_svg(data) if kind == "image/svg+xml" else data
    return None if kind is None or shown is None else (kind, shown)


def _decoded(uri: str) -> bytes | LeftOut:
    head, _, body = uri.partition(",")
    if len(body) > 2 * MAX_IMAGE_BYTES:
        return LeftOut.TOO_LARGE
    if not head.lower().rstrip().endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return b64decode("".join(unquote(body).split()), validate=True)
    except (Base64Error, ValueError):
        return LeftOut.UNREADABLE
