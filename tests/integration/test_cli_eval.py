"""`oda eval`: on a model over HTTP, on what was recorded of it, and what is said when it cannot."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Json, Script, Step, Text, ToolCalls
from tests.support.oda_command import Ended, Home

CASES = """\
prompts: [greeting]
states: {known: {name: Ann}}
cases:
  - name: weather
    state: known
    talk:
      - say: How is the weather in Rome?
        expect:
          says: [sunny, [Rome, Roma]]
          never_says: [rain]
          language: en
          calls: [weather]
          state: {name: Ann, other: null}
          unchanged: [name]
          model_calls: 2
          judge: The reply names the city.
  - name: chat
    talk:
      - say: Hello!
        expect: {calls: [], says: [hello]}
      - say: Bye!
        expect: {says: [bye]}
"""
PROMPT = "---\nversion: 1\n---\nBe kind.\n"
WEATHER = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),))
VERDICT = Json(value={"reason": "It does.", "holds": True})
GOOD: tuple[Step, ...] = (WEATHER, Text(text="It is sunny in Rome."), VERDICT)
CHAT: tuple[Step, ...] = (Text(text="Hello!"), Text(text="Goodbye!"))


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, model: ModelServer) -> Home:
    home = Home(tmp_path, model=model)
    home.write("agents/greeter/prompts/greeting.md", PROMPT)
    home.write("agents/greeter/evaluation/talk.yaml", CASES)
    return home


async def one_by_one(home: Home, model: ModelServer, *options: str) -> Ended:
    """Run the cases in order; at once, they would take each other's steps."""
    model.play(GOOD)
    await home.run("eval", "greeter", "--case", "weather", *options)
    model.play(CHAT)
    return await home.run("eval", "greeter", "--case", "chat", *options)


def report(home: Home) -> dict[str, Any]:
    """Return the latest report."""
    latest = max((home.directory / "data/evaluation").glob("*.json"))
    content: dict[str, Any] = json.loads(latest.read_bytes())
    return content


async def test_a_model_that_does_well_passes(home: Home, model: ModelServer) -> None:
    model.play(GOOD)
    ended = await home.run("eval", "greeter", "--case", "weather")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith("greeter on gemini-stub; prompts: greeting 1\n")
    assert " 1/1  100%            3 " in ended.stdout
    (result,) = report(home)["results"]
    assert result["talk"] == [
        {"said": "How is the weather in Rome?", "reply": "It is sunny in Rome."}
    ]
    assert result["tokens_in"] > 0


async def test_what_is_wrong_is_told_and_written(home: Home, model: ModelServer) -> None:
    model.play([Text(text="Rain."), Json(value={"reason": "No city.", "holds": False})])
    ended = await home.run("eval", "greeter", "--case", "weather")
    assert ended.code == 1
    for problem in (
        "the reply does not say 'sunny'",
        "the reply does not say 'Rome or Roma'",
        "the reply says 'rain'",
        "weather was not called",
        "not true: The reply names the city. (No city.)",
    ):
        assert f"talk/weather: {problem}" in ended.stdout
    (written,) = (home.directory / "data/evaluation").glob("*.md")
    assert "> **agent**: Rain." in written.read_text(encoding="utf-8")


async def test_so_many_must_pass_as_is_asked_for(home: Home, model: ModelServer) -> None:
    model.play([Text(text="Rain.")])
    ended = await home.run("eval", "greeter", "--case", "chat", "--at-least", "0")
    assert ended.code == 0


async def test_recorded_answers_pass_without_a_model(home: Home, model: ModelServer) -> None:
    await one_by_one(home, model, "--record")
    model.reset()
    ended = await home.run("eval", "greeter", "--recorded", MODEL="", MODEL_API_BASE="")
    assert (ended.code, model.received) == (0, 0)
    assert "gemini-stub (recorded)" in ended.stdout
    assert " 2/2  100% " in ended.stdout


async def test_a_call_that_was_not_recorded_fails_its_case(home: Home, model: ModelServer) -> None:
    await one_by_one(home, model, "--record")
    home.write("agents/greeter/evaluation/talk.yaml", CASES + "      - say: Once more!\n")
    ended = await home.run("eval", "greeter", "--recorded")
    assert ended.code == 1
    assert "talk/chat: message 3: the turn failed" in ended.stdout
    assert "oda eval APP --record" in ended.stdout


async def test_a_recording_of_another_prompt_is_stale(home: Home, model: ModelServer) -> None:
    await one_by_one(home, model, "--record")
    home.write("agents/greeter/prompts/greeting.md", PROMPT.replace("kind", "brief"))
    ended = await home.run("eval", "greeter", "--recorded")
    assert "stale: the prompt 'greeting' has changed" in ended.stdout


async def test_two_reports_are_compared(home: Home, model: ModelServer) -> None:
    await one_by_one(home, model)
    earlier = str(max((home.directory / "data/evaluation").glob("*.json")))
    model.play([Text(text="Hello!"), Text(text="No.")])
    ended = await home.run("eval", "greeter", "--case", "chat", "--compare", earlier)
    assert "  100% -> 0% of 1 cases\n" in ended.stdout
    assert "  worse: talk/chat: message 2: the reply does not say 'bye'" in ended.stdout


async def test_another_model_judges(home: Home, model: ModelServer) -> None:
    model.play(GOOD)
    home.write(
        "config/models.yaml", f"models:\n  wise: {{model: gemini-wise, api_base: '{model.url}'}}"
    )
    ended = await home.run("eval", "greeter", "--case", "weather", "--judge", "wise")
    assert ended.code == 0, ended.stdout
    assert [request.model for request in model.requests][-1] == "gemini-wise"


async def test_a_judge_that_fails_is_a_problem_of_its_case(home: Home, model: ModelServer) -> None:
    model.play(Script(steps=GOOD[:2], default=Error(status=401)))
    ended = await home.run("eval", "greeter", "--case", "weather")
    assert ended.code == 1
    assert "talk/weather: the judge failed" in ended.stdout


async def test_without_a_model_it_is_said_what_to_set(home: Home) -> None:
    ended = await home.run("eval", "greeter", MODEL="", MODEL_API_BASE="")
    assert (ended.code, ended.stdout) == (2, "")
    assert "set ODA_MODEL" in ended.stderr
    assert "--recorded" in ended.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nobody"], "There is no agent 'nobody'"),
        (["greeter", "--set", "other"], "no evaluation set 'other'"),
        (["greeter", "--case", "other"], "There is no case 'other'. (there are: weather, chat)"),
        (["greeter", "--recorded"], "There are no recorded answers"),
        (["greeter", "--recorded", "--record"], "--recorded excludes --record"),
        (["greeter", "--compare", "none.json"], "none.json is no report"),
    ],
)
async def test_what_is_not_there_is_told(home: Home, options: list[str], said: str) -> None:
    ended = await home.run("eval", *options)
    assert (ended.code, ended.stdout) == (2, "")
    assert said in ended.stderr


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("prompts/greeting.md", "Be kind.\n", "no version (begin with the lines ---"),
        ("prompts/greeting.md", "---\nversion: 0\n---\nBe kind.", "version: input should be"),
        ("prompts/greeting.md", "---\nversion: 1\n---\nIt costs $5.", "write $$ for a dollar"),
        ("evaluation/talk.yaml", CASES.replace("chat", "weather"), "two cases are called"),
        ("evaluation/talk.yaml", CASES.replace("[greeting]", "[x]"), "prompts: there is no 'x'"),
        ("evaluation/talk.yaml", CASES.replace("state: known", "state: x"), "'x', which is no"),
        ("evaluation/talk.yaml", CASES.replace("says:", "sings:"), "unknown key"),
    ],
)
async def test_a_wrong_file_is_named_with_what_is_wrong(
    home: Home, file: str, text: str, said: str
) -> None:
    home.write(f"agents/greeter/{file}", text)
    ended = await home.run("eval", "greeter")
    assert (ended.code, ended.stdout) == (2, "")
    assert Path(file).name in ended.stderr
    assert said in ended.stderr
