"""The floor: an ADK `Runner` with sessions in memory, in a process of its own and without HTTP.

Each connection to its socket asks for one thing in one line, `session` or `turn SESSION QUESTION`,
and gets one line back, `ok VALUE` or `failed REASON`.
"""

import asyncio
import sys
import uuid

import uvloop
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part

from scripts.benchmark.adding import adding_agent, lite_llm
from scripts.benchmark.workload import ANSWER

_USER = "bench"
_STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)


async def _create_session(runner: InMemoryRunner) -> str:
    session_id = uuid.uuid4().hex
    await runner.session_service.create_session(
        app_name=runner.app_name, user_id=_USER, session_id=session_id
    )
    return session_id


async def _run_turn(runner: InMemoryRunner, session_id: str, question: str) -> str:
    message = Content(role="user", parts=[Part(text=question)])
    answer = ""
    async for event in runner.run_async(
        user_id=_USER, session_id=session_id, new_message=message, run_config=_STREAMING
    ):
        if event.is_final_response() and not event.partial and event.content:
            answer = "".join(part.text or "" for part in event.content.parts or ())
    if answer != ANSWER:
        raise ValueError(f"the answer was {answer!r}")
    return session_id


async def _serve(path: str) -> None:
    runner = InMemoryRunner(agent=adding_agent(lite_llm()), app_name="calculator")

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        command, *arguments = (await reader.readline()).decode().strip().split(" ", 2)
        try:
            if command == "turn":
                reply = f"ok {await _run_turn(runner, *arguments)}"
            else:
                reply = f"ok {await _create_session(runner)}"
        except Exception as error:
            reply = f"failed {error!r}"
        writer.write(reply.encode() + b"\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_unix_server(serve_one, path, backlog=256) as server:
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1]))
