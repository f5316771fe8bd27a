"""`oda turns`: turns of other processes, as an operator sees and ends them."""

import asyncio
import json
from pathlib import Path
from typing import Any

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Hang, Match, Step, Text, ToolCalls
from tests.support.oda_command import LIMIT_S, Home, says

PAYER = '''
import time

from google.adk.agents import LlmAgent

from oda import configured_model


def pay(amount: int) -> str:
    """Pay."""
    print("paying", flush=True)
    time.sleep(3600)
    return "paid"


root_agent = LlmAgent(name="payer", model=configured_model(), tools=[pay])
'''


async def listed(home: Home, *options: str) -> list[dict[str, Any]]:
    ended = await home.run("turns", "list", "--json", *options)
    assert ended.code == 0, ended.stderr
    found: list[dict[str, Any]] = json.loads(ended.stdout)["turns"]
    return found


async def the_turn(home: Home) -> str:
    """The id of the only turn."""
    (turn,) = await listed(home)
    turn_id: str = turn["turn_id"]
    return turn_id


async def test_turns_are_listed_newest_first_and_by_what_is_asked_for(tmp_path: Path) -> None:
    async with ModelServer([Error(status=401), Text(text="Hello.")]) as model:
        home = Home(tmp_path, model=model)
        await home.run("run", "greeter", "one", "--session", "s1")
        await home.run("run", "greeter", "two", "--session", "s2", "--user", "anna")
    turns = await listed(home)
    assert [(turn["session_id"], turn["user_id"], turn["status"]) for turn in turns] == [
        ("s2", "anna", "succeeded"),
        ("s1", "local", "failed"),
    ]
    assert await listed(home, "--session", "s1") == turns[1:]
    assert await listed(home, "--user", "anna", "--app", "greeter") == turns[:1]
    assert await listed(home, "--status", "failed") == turns[1:]
    assert await listed(home, "--limit", "1") == turns[:1]
    assert await listed(home, "--status", "running") == []
    shown = (await home.run("turns", "list", "--user", "anna")).stdout
    assert turns[0]["turn_id"] in shown
    assert shown.endswith("succeeded      greeter/anna/s2  Hello.\n")


async def test_a_turn_is_shown_with_attempts_usage_tool_calls_and_entries(tmp_path: Path) -> None:
    call = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),))
    script: list[Step] = [Error(status=503), call, Text(text="Sunny.")]
    async with ModelServer(script) as model:
        home = Home(tmp_path, model=model)
        await home.run("run", "greeter", "weather in Rome?")
    turn_id = await the_turn(home)
    lines = (await home.run("turns", "show", turn_id)).stdout.splitlines()
    assert lines[0] == f"{turn_id} is succeeded"
    assert "  attempts  2" in lines
    assert "  message   weather in Rome?" in lines
    assert "  reply     Sunny." in lines
    assert any(line.startswith("  usage     3 model calls, ") for line in lines)
    assert any(line.startswith("  weather (") and line.endswith("succeeded") for line in lines)
    assert any('→ weather(city="Rome")' in line for line in lines)
    assert lines[-1].endswith("succeeded, attempt 2")
    details = json.loads((await home.run("turns", "show", turn_id, "--json")).stdout)
    assert details["tool_calls"][0]["tool"] == "weather"
    assert details["last_entries"][-1]["event"] == "done"


async def test_a_call_that_was_cut_off_is_shown_as_unknown(tmp_path: Path) -> None:
    pay = ToolCalls(calls=(Call(name="pay", args={"amount": 5}),))
    chat = ("chat", "payer", "--session", "s1")
    async with ModelServer([pay, Text(text="I do not know whether it was paid.")]) as model:
        home = Home(tmp_path, model=model)
        home.write("agents/payer/agent.py", PAYER)
        process = await home.start(*chat)
        assert process.stdin is not None
        process.stdin.write(b"pay\n")
        await says(process, "paying")
        process.kill()
        await process.communicate()
        again = await home.run(*chat)
    assert again.stdout.splitlines()[-1] == "I do not know whether it was paid."
    assert "paying" not in again.stdout
    shown = (await home.run("turns", "show", await the_turn(home))).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("  pay (")]
    assert "OUTCOME UNKNOWN" in line
    assert "attempts  2, 1 after the death of a process" in shown


async def test_a_turn_of_another_process_is_cancelled(tmp_path: Path) -> None:
    async with ModelServer([Hang()]) as model:
        home = Home(tmp_path, model=model)
        running = await home.start("run", "greeter", "hi", "--session", "s1")
        await model.wait_until(lambda server: server.in_flight == 1, timeout_s=LIMIT_S)
        turn_id = await the_turn(home)
        cancelled = await home.run("turns", "cancel", turn_id)
        await asyncio.wait_for(running.communicate(), LIMIT_S)
    assert (cancelled.code, cancelled.stdout) == (0, f"{turn_id} is cancelled\n")
    assert running.returncode == 4
    again = await home.run("turns", "cancel", turn_id, "--json")
    assert (again.code, json.loads(again.stdout)["status"]) == (0, "cancelled")


async def test_a_turn_whose_process_is_dead_is_cancelled(tmp_path: Path) -> None:
    async with ModelServer([Hang(), Text(text="Fine again.")]) as model:
        home = Home(tmp_path, model=model)
        killed = await home.start("run", "greeter", "hi", "--session", "s1")
        await model.wait_until(lambda server: server.in_flight == 1, timeout_s=LIMIT_S)
        killed.kill()
        await killed.communicate()
        cancelled = await home.run("turns", "cancel", await the_turn(home))
        again = await home.run("run", "greeter", "again", "--session", "s1")
    assert cancelled.stdout.endswith("is cancelled\n")
    assert again.stdout == "Fine again.\n"


async def test_a_turn_that_waits_is_cancelled_and_asks_nothing_more(tmp_path: Path) -> None:
    delete = ToolCalls(calls=(Call(name="delete_file", args={"path": "a.txt"}),))
    script: list[Step] = [delete, Text(text="Fine.", match=Match(last_user="again"))]
    async with ModelServer(script) as model:
        home = Home(tmp_path, model=model)
        await home.run("run", "greeter", "delete it", "--session", "s1")
        turn_id = await the_turn(home)
        assert "waits     Run delete_file" in (await home.run("turns", "show", turn_id)).stdout
        assert (await home.run("turns", "cancel", turn_id)).code == 0
        ended = await home.run("chat", "greeter", "--session", "s1", stdin="again\n")
    assert (ended.code, ended.stdout) == (0, "Fine.\n")


async def test_an_unknown_turn_is_refused_in_one_line(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for command in ("show", "cancel"):
        ended = await home.run("turns", command, "turn_x")
        assert (ended.code, ended.stdout) == (2, "")
        assert ended.stderr == "error: There is no turn 'turn_x'.\n"
