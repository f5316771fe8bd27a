"""How downloads are sent."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from oda.server.downloads import (
    LockedArtifacts,
    download_headers,
    is_media_type,
    safe_media_type,
)


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("a.txt", "attachment; filename=\"a.txt\"; filename*=UTF-8''a.txt"),
        ("user:folder/a b.txt", "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt"),
        (
            "文件.pdf",
            "attachment; filename=\"pdf\"; filename*=UTF-8''%E6%96%87%E4%BB%B6.pdf",
        ),
        ('a"b;c', "attachment; filename=\"a_b;c\"; filename*=UTF-8''a_b%3Bc"),
        ("x\r\ny", "attachment; filename=\"x__y\"; filename*=UTF-8''x__y"),
        ("...", "attachment; filename=\"artifact\"; filename*=UTF-8''artifact"),
        ("文", "attachment; filename=\"artifact\"; filename*=UTF-8''%E6%96%87"),
    ],
)
def test_the_name_is_told_safely(name: str, disposition: str) -> None:
    assert download_headers(name)["Content-Disposition"] == disposition


@pytest.mark.parametrize(
    "text",
    ["text/html", "image/svg+xml", "text/plain; charset=utf-8", 'text/plain;charset="utf-8"'],
)
def test_media_types_are_kept(text: str) -> None:
    assert is_media_type(text)
    assert safe_media_type(text) == text


@pytest.mark.parametrize("text", ["", "html", "text/html\r\nX: y", "text/html; x", "text/ html"])
def test_what_is_no_media_type_is_any_bytes(text: str) -> None:
    assert not is_media_type(text)
    assert safe_media_type(text) == "application/octet-stream"


@pytest.mark.parametrize(
    ("path", "locked"),
    [
        ("/apps/a/users/u/sessions/s/artifacts/x.html", True),
        ("/apps/a/users/u/sessions/s/artifacts/x.html/versions/0", True),
        ("/apps/a/users/u/sessions/s/artifacts", True),
        ("/apps/a/users/u/sessions/s", False),
        ("/dev-ui/", False),
    ],
)
async def test_what_adk_answers_for_artifacts_is_locked_too(path: str, locked: bool) -> None:
    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse("<script>", headers={"Cache-Control": "public"})

    app = LockedArtifacts(Starlette(routes=[Route("/{path:path}", page)]))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        headers = (await client.get(path)).headers
    assert headers.get("content-disposition", "").startswith("attachment") == locked
    assert headers["cache-control"] == ("private, no-store" if locked else "public")
    assert ("content-security-policy" in headers) == locked
    assert ("x-content-type-options" in headers) == locked
