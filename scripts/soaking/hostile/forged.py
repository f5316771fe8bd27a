"""Requests in another user's name, or for another user's data."""

import base64
from urllib.parse import quote

from scripts.soaking.hostile.target import Target, as_json

_HIDDEN = (403, 404, 429)
"""Statuses with which the server refuses access to another user's data."""
_REFUSED = (*range(400, 500),)


async def wrong_keys(target: Target) -> None:
    """Send unknown keys and tokens; the answer must not reveal the state of a credential."""
    unsigned = ".".join(
        base64.urlsafe_b64encode(part).rstrip(b"=").decode()
        for part in (b'{"alg":"none"}', as_json({"sub": target.victim}), b"")
    )
    key = target.soaked.keys[target.victim]
    for credential in ("", "x" * 40, key[:-1], key[:-4] + "AAAA", unsigned, "\xff" * 20):
        headers = {"Authorization": f"Bearer {credential}"}
        await target.ask(
            "GET", "/v1/apps", headers=headers, expect=(400, 401, 429), as_attacker=False
        )
    await target.ask("GET", "/v1/apps", expect=(401, 429), as_attacker=False)


async def another_user(target: Target) -> None:
    """Claim to be the victim by a header, which only admins may."""
    session = f"/v1/apps/assistant/sessions/{target.victims_session}"
    headers = {"X-Oda-User": target.victim}
    await target.ask("GET", session, headers=headers, expect=_HIDDEN)
    forwarded = {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-User": target.victim}
    await target.ask("GET", session, headers=forwarded, expect=_HIDDEN)
    body = as_json({"user_id": target.victim, "input": {"type": "text", "text": "hello"}})
    await target.ask("POST", "/api/orchestrator/process", body, expect=_HIDDEN)
    foreign = {"Host": "evil.example", "Origin": "https://evil.example"}
    await target.ask("GET", session, headers=foreign, expect=_REFUSED)


async def victims_things(target: Target) -> None:
    """Request another user's data by known ids."""
    session = f"/v1/apps/assistant/sessions/{target.victims_session}"
    turn = f"/v1/turns/{target.victims_turn}"
    hello = as_json({"message": "hello"})
    for method, path, body in (
        ("GET", session, b""),
        ("GET", f"{session}/state", b""),
        ("PATCH", f"{session}/state", as_json({"a": 1})),
        ("GET", f"{session}/events", b""),
        ("GET", f"{session}/artifacts", b""),
        ("GET", f"{session}/artifacts/secret.txt", b""),
        ("GET", f"{session}/turns", b""),
        ("POST", f"{session}/turns", hello),
        ("POST", f"{session}/fork", b"{}"),
        ("POST", f"{session}/rewind", as_json({"turn_id": target.victims_turn})),
        ("DELETE", session, b""),
        ("GET", turn, b""),
        ("GET", f"{turn}/events", b""),
        ("POST", f"{turn}/cancel", b""),
        ("POST", f"{turn}/input", as_json({"responses": [{"id": "x", "confirmed": True}]})),
        ("GET", f"/api/workspaces/{target.victims_turn}/files", b""),
        ("GET", f"/api/agent/cv-tools/{target.victims_session}/resume", b""),
        ("GET", f"/api/articles/runs/{target.victims_turn}", b""),
    ):
        await target.ask(method, path, body, expect=_HIDDEN)


async def adk_doors(target: Target) -> None:
    """Request the same data, and the application's own, through ADK's routes."""
    users = f"/apps/assistant/users/{target.victim}/sessions"
    own = f"/apps/assistant/users/{target.attacker}/sessions"
    message = {"role": "user", "parts": [{"text": "hello"}]}
    for method, path, body in (
        ("GET", users, b""),
        ("GET", f"{users}/{target.victims_session}", b""),
        ("POST", users, b"{}"),
        ("DELETE", f"{users}/{target.victims_session}", b""),
        ("GET", f"{users}/{target.victims_session}/artifacts", b""),
        (
            "POST",
            "/run",
            as_json(
                {
                    "app_name": "assistant",
                    "user_id": target.victim,
                    "new_message": message,
                    "session_id": target.victims_session,
                }
            ),
        ),
        ("POST", own, as_json({"state": {"app:motd": "forged"}})),
        ("POST", own, as_json({"state": {"_oda_turn": {}}})),
        ("PATCH", f"{own}/{target.session}", as_json({"state_delta": {"app:motd": "forged"}})),
        ("POST", own, as_json({"events": [{"author": "model", "invocation_id": "x"}]})),
    ):
        await target.ask(method, path, body, expect=_REFUSED)


async def path_tricks(target: Target) -> None:
    """Send names that are paths."""
    own = f"/v1/apps/assistant/sessions/{target.session}/artifacts"
    for name in ("../../secret", "..\\secret", "/etc/passwd", "a/../../b", "a\0b"):
        path = f"{own}/{quote(name, safe='')}"
        await target.ask("PUT", path, b"x", expect=_REFUSED)
    for path in (
        "/v1/apps/..%2f..%2fetc/sessions",
        "/v1/apps/assistant/sessions/..%2f..%2f..",
        f"/api/workspaces/{target.victims_turn}/files?path=../../../etc/passwd",
        "/api/articles/..%2f..%2fetc/files/passwd",
        "/v1/../../etc/passwd",
        "//etc/passwd",
    ):
        await target.ask("GET", path, expect=_REFUSED)


async def forged_places(target: Target) -> None:
    """Send cursors and numbers that the server has not issued."""
    session = f"/v1/apps/assistant/sessions/{target.session}"
    forged = quote(base64.urlsafe_b64encode(b'["9999", "x\' OR 1=1 --"]').decode())
    for path in (
        f"{session}/turns?cursor={forged}",
        f"{session}/turns?cursor={'9' * 400}",
        f"{session}/events?after=not-there",
        f"{session}/turns?limit=100000000",
    ):
        await target.ask("GET", path, expect=_REFUSED)
    for last in ("99999999999999999999", "-1", "1; DROP TABLE oda_turns", "\xff"):
        headers = {"Last-Event-ID": last, "Accept": "text/event-stream"}
        path = f"/v1/turns/{target.victims_turn}/events"
        await target.ask("GET", path, headers=headers, expect=_REFUSED)
