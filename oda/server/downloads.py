"""How files that agents and users made are sent, so that no browser ever runs them.

They may be HTML or SVG with scripts in them, and they come from the API's own origin.
"""

import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.server.request_path import path_of
from oda.session.artifacts import ANY_TYPE

_LOCKED: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private, no-store",
}
_SHOWN = (
    "sandbox allow-downloads allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MEDIA_TYPE = re.compile(
    r'[\w.+-]{1,127}/[\w.+-]{1,127}(; ?[\w-]+=("[\w.+-]{1,127}"|[\w.+-]{1,127}))*', re.ASCII
)
_NOT_IN_A_FILE_NAME = re.compile(r'[\\/:*?"<>|%\x00-\x1f\x7f]')
_ARTIFACT_OF_ADK = re.compile(r"/apps/[^/]+/users/[^/]+/sessions/[^/]+/artifacts(/|$)")


def download_headers(name: str) -> dict[str, str]:
    """The headers of a download that is to be saved under the last part of `name`."""
    return {**_LOCKED, "Content-Disposition": _disposition("attachment", name)}


def page_headers(name: str) -> dict[str, str]:
    """Return the headers of an untrusted HTML page that is shown in a browser.

    The page may have inline styles and images, but no scripts, no forms and no external resources.
    It has an opaque origin; its links may be followed, including to downloads.

    Args:
        name: The file name under which it is saved.
    """
    disposition = _disposition("inline", name)
    return {**_LOCKED, "Content-Security-Policy": _SHOWN, "Content-Disposition": disposition}


def is_media_type(text: str) -> bool:
    """Return whether a text is a media type."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def safe_media_type(text: str) -> str:
    """Return an untrusted media type, or `application/octet-stream` if it is malformed."""
    return text if is_media_type(text) else ANY_TYPE


class LockedArtifacts:
    """Sends what ADK's artifact routes answer with the headers of our downloads."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _ARTIFACT_OF_ADK.match(path_of(scope)):
            await self._app(scope, receive, send)
            return
        locked = download_headers(f"{path_of(scope).rpartition('/')[2]}.json")

        async def send_locked(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(locked)
            await send(message)

        await self._app(scope, receive, send_locked)


def _disposition(how: str, name: str) -> str:
    """RFC 6266, with a plain name for old clients."""
    file_name = _NOT_IN_A_FILE_NAME.sub("_", name.rpartition("/")[2].removeprefix("user:"))
    file_name = file_name.strip(". ") or "artifact"
    plain = unicodedata.normalize("NFKD", file_name).encode("ascii", "ignore").decode()
    plain = plain.strip(". ") or "artifact"
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"
