"""`oda serve` as a process: ready, reloaded, stopped."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.support.oda_command import GREETER, LIMIT_S, Home


@asynccontextmanager
async def serving(
    home: Home, *arguments: str, **settings: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await home.start("serve", *arguments, **{"PORT": "0", **settings})
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.communicate(), LIMIT_S)


async def ready(process: asyncio.subprocess.Process) -> str:
    """The line that the server prints when it is ready."""
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), LIMIT_S)).decode().rstrip()


async def refusal(process: asyncio.subprocess.Process) -> str:
    """The next line on stderr with which the server refuses to start."""
    assert process.stderr is not None
    line = ""
    while not line.startswith("error: "):
        line = (await asyncio.wait_for(process.stderr.readline(), LIMIT_S)).decode()
        assert line, "stderr has ended"
    return line


def url_in(line: str) -> str:
    found = re.search(r"http://\S+", line)
    assert found, line
    return found[0]


async def test_one_line_tells_the_real_url_when_the_server_answers(tmp_path: Path) -> None:
    async with serving(Home(tmp_path)) as process:
        line = await ready(process)
        url = url_in(line)
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            assert (await client.get("/readyz")).status_code == 200
            assert (await client.get("/dev-ui/")).status_code == 200
        process.send_signal(signal.SIGTERM)
        rest, errors = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert line == f"oda is ready on {url} (dev UI: {url}/dev-ui/)"
    assert (process.returncode, rest, errors) == (0, b"", b"")


async def test_on_a_public_address_there_is_no_dev_ui(tmp_path: Path) -> None:
    async with serving(Home(tmp_path), "--host", "0.0.0.0", "--insecure") as process:
        line = await ready(process)
        port = line.rpartition(":")[2]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            assert (await client.get("/v1/apps")).status_code == 200
            assert (await client.get("/dev-ui/")).status_code == 404
    assert line == f"oda is ready on http://0.0.0.0:{port}"


async def test_reload_takes_up_a_changed_agent_and_survives_a_broken_file(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with serving(home, "--reload", "--no-dev-ui") as process:
        url = url_in(await ready(process))
        home.write("config/mcp.yaml", "servers: 7")
        assert "config/mcp.yaml" in await refusal(process)
        home.write("agents/greeter/agent.py", GREETER.replace("Greets people.", "Sings."))
        assert "config/mcp.yaml" in await refusal(process)
        home.write("config/mcp.yaml", "servers: {}")
        assert url_in(await ready(process)) == url
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            (app,) = (await client.get("/v1/apps")).json()["apps"]
    assert app["description"] == "Sings."
