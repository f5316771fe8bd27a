"""`oda run`: one message, one answer, and an exit code."""

import json
import signal
from pathlib import Path

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Step, Text, ToolCalls
from tests.support.oda_command import Home


async def test_only_the_answer_goes_to_stdout(tmp_path: Path) -> None:
    call = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),), text="Let me look.")
    script: list[Step] = [Error(status=503), call, Text(text="Sunny.")]
    async with ModelServer(script) as model:
        ended = await Home(tmp_path, model=model).run("run", "greeter", "weather in Rome?")
    assert ended.stdout == "Sunny.\n"
    retry, called, returned = ended.stderr.splitlines()
    assert retry.startswith("↻ retry 1/3")
    assert (called, returned) == ('→ weather(city="Rome")', '← weather: "sunny in Rome"')
    assert ended.code == 0


async def test_json_holds_the_session_the_outcome_and_the_events(tmp_path: Path) -> None:
    async with ModelServer([Error(status=429), Text(text="Hello.")]) as model:
        ended = await Home(tmp_path, model=model).run(
            "run", "greeter", "hi", "--json", "--session", "s1"
        )
    result = json.loads(ended.stdout)
    events = result.pop("events")
    assert result.pop("turn_id").startswith("turn_")
    assert result == {
        "session_id": "s1",
        "status": "succeeded",
        "reply": "Hello.",
        "error": None,
        "pending_input": [],
    }
    assert events[0]["errorCode"] == "RETRY_ATTEMPT"
    assert events[-1]["content"]["parts"] == [{"text": "Hello."}]


async def test_a_failed_turn_is_exit_code_1_with_the_reason(tmp_path: Path) -> None:
    async with ModelServer([Error(status=500, times=None)]) as model:
        home = Home(tmp_path, model=model)
        ended = await home.run("run", "greeter", "hi", "--json", RETRY__MAX_RETRIES="1")
    result = json.loads(ended.stdout)
    assert result["status"] == "failed"
    assert result["error"]["code"] == "server_error"
    assert ended.stderr.splitlines()[-1].startswith("error: server_error: Agent execution failed")
    assert ended.code == 1


async def test_stream_prints_text_as_it_comes_and_says_what_does_not_count(tmp_path: Path) -> None:
    script: list[Step] = [Cut(chunks=("Half ", "an answer")), Text(text="A whole one.")]
    async with ModelServer(script) as model:
        ended = await Home(tmp_path, model=model).run("run", "greeter", "hi", "--stream")
    assert ended.stdout == "Half an answer\nA whole one.\n"
    assert ended.stderr.splitlines()[0] == "(the text above is discarded)"


async def test_ctrl_c_cancels_the_turn_and_the_session_stays_usable(tmp_path: Path) -> None:
    async with ModelServer([Hang()]) as model:
        home = Home(tmp_path, model=model)
        process = await home.start("run", "greeter", "hi", "--session", "s1")
        await model.wait_until(lambda server: server.in_flight == 1, timeout_s=30)
        process.send_signal(signal.SIGINT)
        stdout, stderr = await process.communicate()
        again = await home.run("run", "greeter", "again", "--session", "s1")
    assert (process.returncode, stdout, stderr) == (4, b"", b"cancelled\n")
    assert again.stdout == "You said: again\n"


async def test_an_mcp_tool_is_really_called(tmp_path: Path) -> None:
    demo = Path(__file__).parents[1] / "support" / "mcp_demo_server.py"
    call = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
    async with ModelServer([call, Text(text="Five.")]) as model:
        home = Home(tmp_path, model=model)
        home.write("config/agents.yaml", "agents: {greeter: {mcp_servers: [demo]}}")
        home.write(
            "config/mcp.yaml",
            f"servers: {{demo: {{transport: stdio, command: python, args: ['{demo}']}}}}",
        )
        ended = await home.run("run", "greeter", "2 + 3?")
    assert "→ add(a=2, b=3)" in ended.stderr
    assert '"result": 5' in ended.stderr
    assert ended.stdout == "Five.\n"


async def test_without_a_model_it_fails_and_says_what_to_set(tmp_path: Path) -> None:
    home = Home(tmp_path)
    ended = await home.run("run", "greeter", "hi")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: no model is configured")
    assert "ODA_MODEL" in ended.stderr
    as_json = await home.run("run", "greeter", "hi", "--json")
    assert (as_json.code, json.loads(as_json.stdout)["status"]) == (2, "succeeded")


async def test_a_model_without_a_key_is_a_matter_of_configuration(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for name, model in (("asks_gemini", "gemini-2.5-flash"), ("asks_openai", "openai/gpt-4o")):
        home.write(
            f"agents/{name}/agent.py",
            "from google.adk.agents import LlmAgent\n"
            f"root_agent = LlmAgent(name='{name}', model='{model}')\n",
        )
        ended = await home.run("run", name, "hi", "--json")
        error = json.loads(ended.stdout)["error"]
        assert (ended.code, error["code"], error["retryable"]) == (1, "configuration_error", False)
        variable = {"asks_gemini": "GOOGLE_API_KEY", "asks_openai": "OPENAI_API_KEY"}[name]
        assert f"set {variable}" in error["message"]
