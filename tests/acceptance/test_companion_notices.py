"""Parents are told of a grave concern at once: by e-mail and by signed webhooks, tried again."""

import asyncio
import base64
import hmac
import json
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
PROCESS = "/api/orchestrator/process"
KEY = b"a key of twenty-four byte"
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
PATIENCE_S = 40.0

Json = dict[str, Any]


class Mailbox:
    """Takes letters, after it has refused some."""

    def __init__(self, refusals: int = 0) -> None:
        self.refusals = refusals
        self.letters: list[EmailMessage] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refusals:
            self.refusals -= 1
            return "451 try again later"
        assert isinstance(envelope.content, bytes)
        letter = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(letter, EmailMessage)
        self.letters.append(letter)
        return "250 taken"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("nobody"):
            return "550 there is nobody"
        envelope.rcpt_tos.append(address)
        return "250 known"


@asynccontextmanager
async def mail_server(mailbox: Mailbox, port: int = 0) -> AsyncIterator[int]:
    """A mail server on this machine; its port."""
    controller = Controller(mailbox, hostname="127.0.0.1", port=port or free_port())
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


@asynccontextmanager
async def hook_server(statuses: list[int]) -> AsyncIterator[tuple[str, asyncio.Queue[Json]]]:
    """A server for webhooks that answers with these, and then 204; its URL, what it has got."""
    got: asyncio.Queue[Json] = asyncio.Queue()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        body = await reader.readexactly(int(headers["content-length"]))
        got.put_nowait({"headers": headers, "body": body, "signature": _signature(head)})
        status = statuses.pop(0) if statuses else 204
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", got


def _signature(head: list[str]) -> str:
    (found,) = [line for line in head if line.lower().startswith("webhook-signature: ")]
    return found.partition(": ")[2]


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def smtp(port: int) -> Json:
    return {
        "COMPANION__SMTP__HOST": "127.0.0.1",
        "COMPANION__SMTP__PORT": str(port),
        "COMPANION__SMTP__SECURITY": "none",
        "COMPANION__SMTP__SENDER": "oda@example.org",
    }


async def say(client: httpx.AsyncClient, user: str, message: str) -> Json:
    body = {"session_id": "s", "input": {"type": "text", "text": message}}
    got = await client.post(PROCESS, json=body, headers={"X-Oda-User": user})
    assert got.status_code == 200, got.text
    answer: Json = got.json()
    return answer


async def notices(
    client: httpx.AsyncClient, parent: str, done: Callable[[list[Json]], bool]
) -> list[Json]:
    """The notices of a parent's only concern, as soon as they are as expected."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            got = await client.get("/api/companion/concerns", headers={"X-Oda-User": parent})
            (concern,) = got.json()["concerns"]
            if done(concern["notices"]):
                found: list[Json] = concern["notices"]
                return found
            await asyncio.sleep(0.1)


def all_are(status: str) -> Callable[[list[Json]], bool]:
    return lambda found: bool(found) and {one["status"] for one in found} == {status}


FAMILIES = [
    ("zh", "我今天被同学欺负了", "请关心一下mei：被欺负", "12355"),
    (
        "en",
        "my classmates beat me up every day",
        "Please look after mei: being bullied",
        "helpline",
    ),
]


@pytest.mark.parametrize(("language", "danger", "subject", "help_line"), FAMILIES)
async def test_a_parent_gets_a_letter_without_the_childs_words(
    serve_folder: Any, language: str, danger: str, subject: str, help_line: str
) -> None:
    mum = {"children": ["mei"], "email": "mum@example.org", "language": language}
    mailbox = Mailbox(refusals=1)
    async with mail_server(mailbox) as port:
        server = await serve_folder(
            AGENTS, COMPANION__PARENTS=json.dumps({"mum": mum}), **smtp(port)
        )
        await say(server.client, "mei", danger)
        (notice,) = await notices(server.client, "mum", all_are("sent"))
    assert notice == {
        "parent": "mum",
        "channel": "email",
        "status": "sent",
        "attempts": 2,
        "problem": "",
    }
    (letter,) = mailbox.letters
    assert (letter["To"], letter["From"]) == ("mum@example.org", "oda@example.org")
    assert letter["Subject"] == subject
    text = letter.get_content()
    assert "mei" in text
    assert help_line in text
    assert danger not in text


async def test_a_webhook_is_signed_and_tried_again(serve_folder: Any) -> None:
    async with hook_server([500]) as (url, got):
        dad = {"children": ["*"], "webhook": url}
        server = await serve_folder(
            AGENTS,
            COMPANION__PARENTS=json.dumps({"dad": dad}),
            COMPANION__WEBHOOK_SECRET=SECRET,
        )
        await say(server.client, "mei", "我想死")
        async with asyncio.timeout(PATIENCE_S):
            first, second = await got.get(), await got.get()
        headers = {"X-Oda-User": "dad"}
        listed = await server.client.get("/api/companion/concerns?child=mei", headers=headers)
    assert listed.status_code == 200
    assert first["headers"]["webhook-id"] == second["headers"]["webhook-id"]
    for one in (first, second):
        name, timestamp = one["headers"]["webhook-id"], one["headers"]["webhook-timestamp"]
        signed = f"{name}.{timestamp}.".encode() + one["body"]
        expected = base64.b64encode(hmac.digest(KEY, signed, "sha256")).decode()
        assert one["signature"] == f"v1,{expected}"
    event = json.loads(second["body"])
    assert event["type"] == "companion.concern"
    assert event["data"] == {"child": "mei", "category": "self_harm", "severity": "critical"}
    assert "我想死" not in second["body"].decode()


async def test_what_cannot_be_sent_is_shown_and_what_is_minor_is_not_sent(
    serve_folder: Any,
) -> None:
    mum = {"children": ["mei"], "email": "nobody@example.org"}
    ann = {"children": ["tom"], "email": "ann@example.org"}
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        server = await serve_folder(
            AGENTS,
            COMPANION__PARENTS=json.dumps({"mum": mum, "ann": ann}),
            COMPANION__NOTIFY_FROM="critical",
            **smtp(port),
        )
        await say(server.client, "mei", "我想死")
        (notice,) = await notices(server.client, "mum", all_are("failed"))
        assert (notice["attempts"], "refused the address (550)" in notice["problem"]) == (1, True)
        await say(server.client, "tom", "我今天被同学欺负了")
        assert await notices(server.client, "ann", lambda found: found == []) == []
    assert mailbox.letters == []


async def test_a_letter_that_waits_is_sent_after_a_restart(
    serve_folder: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, port, mailbox = tmp_path_factory.mktemp("restart"), free_port(), Mailbox()
    mum = {"children": ["mei"], "email": "mum@example.org"}
    settings = {"COMPANION__PARENTS": json.dumps({"mum": mum}), **smtp(port)}
    server = await serve_folder(AGENTS, data, **settings)
    answer = await say(server.client, "mei", "我想死")
    assert "12355" in answer["content"]["text"], "nobody waits for the mail server"

    def has_failed(found: list[Json]) -> bool:
        return "the mail server cannot be reached" in [one["problem"] for one in found]

    await notices(server.client, "mum", has_failed)
    await server.stop(signal.SIGKILL)
    async with mail_server(mailbox, port):
        server = await serve_folder(AGENTS, data, **settings)
        await say(server.client, "mei", "你好")
        await notices(server.client, "mum", all_are("sent"))
    assert len(mailbox.letters) == 1
