"""Run the model server as a process: `python -m oda.testing.model_server --script file.json`."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from oda.testing.script import Script

from .server import ModelServer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m oda.testing.model_server",
        description="Answer model calls by a script. Prints its URL once it listens.",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: chosen by the system")
    parser.add_argument("--script", type=Path, help="JSON file; without it every text is echoed")
    parser.add_argument(
        "--keep-requests", type=int, default=1000, help="how many of the latest to record"
    )
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace, script: Script) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = ModelServer(
        script,
        host=arguments.host,
        port=arguments.port,
        keep_requests=arguments.keep_requests,
    )
    async with server:
        print(server.url, flush=True)
        await stop.wait()


def main() -> None:
    arguments = _arguments()
    script = (
        Script.model_validate_json(arguments.script.read_bytes()) if arguments.script else Script()
    )
    if sys.platform == "win32":
        asyncio.run(_serve(arguments, script))
    else:
        import uvloop

        uvloop.run(_serve(arguments, script))


if __name__ == "__main__":
    main()
