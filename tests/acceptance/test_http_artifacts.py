"""Files of a session over HTTP: up, down, listed, gone, and never run by a browser."""

import re
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/v1/apps/calculator/sessions"


@pytest_asyncio.fixture(loop_scope="module")
async def client(keyless: Any) -> AsyncIterator[httpx.AsyncClient]:
    user = {"X-Oda-User": uuid.uuid4().hex}
    async with httpx.AsyncClient(base_url=keyless.url, headers=user, timeout=30) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def files(client: httpx.AsyncClient) -> str:
    """The artifacts of a new session."""
    created = (await client.post(SESSIONS)).json()
    return f"{SESSIONS}/{created['session_id']}/artifacts"


async def test_a_file_comes_back_as_it_was_sent(client: Any, files: str) -> None:
    data = bytes(range(256))
    sent = await client.put(
        f"{files}/photo.png", content=data, headers={"Content-Type": "image/png"}
    )
    assert sent.status_code == 201
    assert sent.json() == {
        "name": "photo.png",
        "version": 0,
        "mime_type": "image/png",
        "size": 256,
    }
    got = await client.get(sent.headers["location"])
    assert (got.content, got.headers["content-type"]) == (data, "image/png")
    assert got.headers["etag"] == sent.headers["etag"]
    assert got.headers["content-length"] == "256"


async def test_versions_are_kept(client: Any, files: str) -> None:
    for n, method in enumerate(("PUT", "POST", "PUT")):
        sent = await client.request(method, f"{files}/a.txt", content=f"v{n}")
        assert sent.json()["version"] == n
        assert sent.headers["location"] == f"{files}/a.txt?version={n}"
    assert (await client.get(f"{files}/a.txt")).text == "v2"
    assert (await client.get(f"{files}/a.txt", params={"version": 1})).text == "v1"
    for wrong, status in (("7", 404), ("-1", 422), ("x", 422), (str(2**40), 422)):
        answer = await client.get(f"{files}/a.txt", params={"version": wrong})
        assert answer.status_code == status


async def test_files_are_listed_and_deleted(client: Any, files: str) -> None:
    assert (await client.get(files)).json() == {"artifacts": []}
    for name in ("b/c.txt", "b", "a.txt", "文件.txt"):
        sent = await client.put(
            f"{files}/{quote(name)}", content=b"x", headers={"Content-Type": "text/plain"}
        )
        assert (sent.status_code, sent.json()["name"]) == (201, name)
    listed = (await client.get(files)).json()["artifacts"]
    assert [one["name"] for one in listed] == ["a.txt", "b", "b/c.txt", "文件.txt"]
    assert {one["mime_type"] for one in listed} == {"text/plain"}
    assert listed[0]["created_at"].endswith("Z")
    assert (await client.delete(f"{files}/b")).status_code == 204
    assert (await client.delete(f"{files}/b")).status_code == 404
    assert (await client.get(f"{files}/b")).json()["code"] == "artifact_not_found"
    assert (await client.get(f"{files}/b/c.txt")).content == b"x"


@pytest.mark.parametrize(
    ("mime_type", "data"),
    [
        ("text/html", b"<script>alert(1)</script>"),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("application/octet-stream", b"x"),
    ],
)
async def test_what_could_be_a_page_is_only_ever_saved(
    client: Any, files: str, mime_type: str, data: bytes
) -> None:
    await client.put(f"{files}/x.html", content=data, headers={"Content-Type": mime_type})
    got = await client.get(f"{files}/x.html")
    assert got.content == data
    assert got.headers["content-type"] == mime_type
    assert got.headers["content-disposition"].startswith('attachment; filename="x.html"')
    assert set(got.headers["x-content-type-options"].split(", ")) == {"nosniff"}
    assert got.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert got.headers["cache-control"] == "private, no-store"


async def test_the_name_of_a_download_cannot_break_the_header(client: Any, files: str) -> None:
    name = 'a";x=y; .html'
    await client.put(f"{files}/{quote(name)}", content=b"x")
    disposition = (await client.get(f"{files}/{quote(name)}")).headers["content-disposition"]
    assert re.fullmatch(
        r"""attachment; filename="[^"\\]*"; filename\*=UTF-8''[\w.%-]+""", disposition
    )


@pytest.mark.parametrize(
    "path",
    [
        *("%2e%2e/secret", "%2e%2e%2fsecret", "..%2f..%2fsecret", "a/%2e%2e/%2e%2e/secret"),
        *("%2fetc/passwd", "/etc/passwd", "%5c..%5csecret", "C:%5csecret", "a%00b", "a%0d%0ab"),
        *("user:%2e%2e/secret", "user:%2fetc/passwd", "a//b", "versions/0/x", "metadata.json"),
        *("", "%20", "C:secret"),
    ],
)
async def test_no_name_leads_out_of_the_session(
    keyless: Any, client: Any, files: str, path: str
) -> None:
    for method in ("PUT", "GET", "DELETE"):
        answer = await client.request(method, f"{keyless.url}{files}/{path}", content=b"x")
        assert answer.status_code in (400, 404, 405, 422), (method, answer.text)
        assert "/tmp" not in answer.text
        assert "artifacts/apps" not in answer.text
    assert (await client.get(files)).json() == {"artifacts": []}


async def test_a_percent_sign_is_decoded_once(client: Any, files: str) -> None:
    sent = await client.put(f"{files}/%252e%252e%252fsecret", content=b"x")
    assert sent.json()["name"] == "%2e%2e%2fsecret"
    assert (await client.get(sent.headers["location"])).content == b"x"


async def test_files_of_the_user_are_in_all_their_sessions(client: Any, files: str) -> None:
    await client.put(f"{files}/user:card.txt", content=b"mine")
    await client.put(f"{files}/own.txt", content=b"here only")
    other = (await client.post(SESSIONS)).json()["session_id"]
    listed = (await client.get(f"{SESSIONS}/{other}/artifacts")).json()["artifacts"]
    assert [one["name"] for one in listed] == ["user:card.txt"]
    assert (await client.get(f"{SESSIONS}/{other}/artifacts/user:card.txt")).content == b"mine"
    assert (await client.get(f"{SESSIONS}/{other}/artifacts/own.txt")).status_code == 404
    assert (await client.delete(f"{SESSIONS}/{other}/artifacts/user:card.txt")).status_code == 204


async def test_files_go_with_their_session(client: Any) -> None:
    url = f"{SESSIONS}/again"
    await client.post(SESSIONS, json={"session_id": "again"})
    await client.put(f"{url}/artifacts/a.txt", content=b"x")
    await client.delete(url)
    assert (await client.get(f"{url}/artifacts/a.txt")).status_code == 404
    await client.post(SESSIONS, json={"session_id": "again"})
    assert (await client.get(f"{url}/artifacts/a.txt")).status_code == 404


async def test_what_is_no_file_is_refused(client: Any, files: str) -> None:
    empty = await client.put(f"{files}/a", content=b"")
    assert (empty.status_code, empty.json()["code"]) == (422, "invalid_request")
    kept = await client.put(f"{files}/a", content=b"", headers={"Content-Type": "text/plain"})
    assert kept.status_code == 201
    assert (await client.get(f"{files}/a")).content == b""
    wrong = await client.put(f"{files}/a", content=b"x", headers={"Content-Type": "nonsense"})
    assert wrong.status_code == 422
