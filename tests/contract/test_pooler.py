"""Two processes behind PgBouncer in transaction mode, which spreads statements over connections."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy.engine import make_url

from oda import OdaContext
from oda.turn.log import Entry, Preview
from tests.contract.conftest import REQUIRED
from tests.support.cues import cues
from tests.support.turn_node import APP, USER, node, submission
from tests.support.turns import assert_whole

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("fresh_cues")]

READY_WITHIN_S = 10.0
SOON_S = 20.0
_SETTINGS = """\
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
server_reset_query_always = 1
"""


@pytest.fixture
def fresh_cues() -> Iterator[None]:
    cues.clear()
    yield


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
async def pooler(empty_postgres_url: str, stack: ExitStack) -> AsyncIterator[str]:
    """URL of the database through a PgBouncer of our own."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        (pytest.fail if REQUIRED else pytest.skip)("needs PgBouncer")
    url = make_url(empty_postgres_url)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory = stack.enter_context(TemporaryDirectory(prefix="oda-pooler-"))
    settings = Path(directory) / "pgbouncer.ini"
    plain = url.set(drivername="postgresql")
    settings.write_text(
        _SETTINGS.format(host=plain.host, port=plain.port or 5432, own_port=port).replace(
            "* = ", f"* = user={plain.username} " if plain.username else "* = "
        )
    )
    settings.chmod(0o644)
    own = ("--user", "nobody") if os.geteuid() == 0 else ()  # it refuses to run as root
    if own:
        settings.parent.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        program, "--quiet", *own, settings, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            while not await accepts(port):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.05)
        yield url.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


@pytest.fixture
async def pair(
    pooler: str, empty_postgres_url: str, tmp_path: Path
) -> AsyncIterator[tuple[OdaContext, OdaContext]]:
    """A process that runs turns, and one that only accepts them."""
    async with (
        node(pooler, tmp_path, listen_url=empty_postgres_url) as works,
        node(pooler, tmp_path, listen_url=empty_postgres_url, accept_only=True) as accepts,
    ):
        await works.turns.recover()
        yield works, accepts


async def submit(oda: OdaContext, text: str, session_id: str, **options: bool) -> str:
    session = await oda.sessions.get_or_create(APP, USER, session_id)
    return (await oda.turns.submit(session, submission(text, **options))).turn.turn_id


async def test_many_turns_of_many_sessions_are_answered_once(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    works, accepts = pair
    async with asyncio.timeout(SOON_S):
        turn_ids = [
            await submit(accepts, f"message {n}", f"session {n % 5}", stream_tokens=bool(n % 2))
            for n in range(30)
        ]
        replies = [(await accepts.turns.wait(one)).reply for one in turn_ids]
    assert replies == [f"message {n}" for n in range(30)]
    assert sorted(cues.asked) == sorted(replies)
    for one in turn_ids:
        assert_whole(await works.turns.entries(one))


async def test_text_is_shown_and_a_turn_is_cancelled_across_the_pooler(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    works, accepts = pair
    async with asyncio.timeout(SOON_S):
        shown = await submit(accepts, "dictate d a b", "one", stream_tokens=True)
        reader = accepts.turns.follow(shown, previews=True)
        seen: list[Entry | Preview] = []
        while not any(isinstance(item, Preview) for item in seen):
            seen += await reader.read()
        cancelled = await accepts.turns.cancel(shown)
        assert cancelled.status == "cancelled"
        assert (await works.turns.wait(await submit(works, "next", "one"))).reply == "next"
