"""What ADK's telemetry is given of a model call: everything where it is recorded, else nothing."""

import subprocess
import sys

import pytest

_TURN = '''
import asyncio, os, sys
from google.adk.runners import InMemoryRunner
from google.adk.agents import LlmAgent
from google.adk.telemetry import _experimental_semconv as semconv
from google.genai.types import Content, Part
from oda import configured_model
from oda.agent.model.http_model import close_connections
from oda.testing import ModelServer
from tests.support.counted_work import calls_of

logs = None
if sys.argv[1] == "recorded":
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    logs = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(logs))
    set_logger_provider(provider)

seen = []

def note(callback_context, llm_request):
    seen.append(len(llm_request.contents))

def nothing():
    """Do nothing."""

async def main():
    async with ModelServer() as server:
        os.environ["ODA_MODEL_API_BASE"] = server.openai_base
        agent = LlmAgent(
            name="a",
            model=configured_model(),
            tools=[nothing],
            before_model_callback=note,
        )
        runner = InMemoryRunner(agent=agent, app_name="a")
        await runner.session_service.create_session(app_name="a", user_id="u", session_id="s")
        for text in ("one", "two"):
            message = Content(role="user", parts=[Part(text=text)])
            async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
                pass
        sent = [(len(request.messages), request.tools) for request in server.requests]
    await close_connections()
    return sent

with calls_of(semconv._to_input_message, semconv._tool_to_tool_definition) as converted:
    assert asyncio.run(main()) == [(1, ("nothing",)), (3, ("nothing",))]
records = logs.get_finished_logs() if logs else ()
print(seen, len(converted), "one" in str([one.log_record.attributes for one in records]))
'''


@pytest.mark.parametrize(
    ("recorded", "told"),
    [("recorded", "[1, 3] 8 True"), ("not", "[1, 3] 2 False")],
)
def test_requests_are_converted_for_telemetry_only_if_it_is_recorded(
    recorded: str, told: str
) -> None:
    """The two that are converted always are the answers."""
    environment = {
        "ODA_MODEL": "openai/m",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY",
        "PYTHONPATH": ".",
    }
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _TURN, recorded],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert ran.stdout.strip() == told, ran.stderr
