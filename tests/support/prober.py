"""Asks servers each 50 ms whether they live, from a process that does nothing else.

Run as a program with `port:pid` of each, it reads lines: `begin` forgets what was, `end` waits for
the answers that are still missing and writes a JSON list: of each server the longest wait and how
much CPU time its process has taken meanwhile, in seconds.
"""

import asyncio
import json
import sys
import time

import psutil

EVERY_S = 0.05
PATIENCE_S = 100.0
REQUEST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Asked:
    """One server, its longest wait, and the question that it has not answered yet."""

    def __init__(self, port: str, pid: str) -> None:
        self._port = int(port)
        self._process = psutil.Process(int(pid))
        self.longest = (0.0, 0.0)
        self.free = asyncio.Event()
        self.free.set()

    async def ask_for_ever(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            self.free.clear()
            asked, used = time.monotonic(), self._cpu_time()
            writer.write(REQUEST)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            lengths = [
                int(line.partition(b":")[2])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            ]
            await reader.readexactly(lengths[0])
            waited = time.monotonic() - asked
            self.longest = max(self.longest, (waited, self._cpu_time() - used))
            self.free.set()
            await asyncio.sleep(max(0.0, EVERY_S - waited))

    def _cpu_time(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


async def main(places: list[str]) -> None:
    servers = [Asked(*place.split(":")) for place in places]
    commands = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    async with asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(one.ask_for_ever()) for one in servers]
        while command := (await commands.readline()).strip():
            if command == b"begin":
                for one in servers:
                    one.longest = (0.0, 0.0)
            else:
                async with asyncio.timeout(PATIENCE_S):
                    await asyncio.gather(*(one.free.wait() for one in servers))
                print(json.dumps([one.longest for one in servers]), flush=True)
        for task in asking:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
