"""`oda chat` and `oda run` after a process was killed: turns go on, questions are asked again."""

import asyncio
from pathlib import Path

import pytest

from oda import OdaContext
from oda.testing import ModelServer
from oda.testing.script import Call, Hang, Match, Step, Text, ToolCalls
from tests.support.oda_command import LIMIT_S, Home, says

DELETE = ToolCalls(calls=(Call(name="delete_file", args={"path": "a.txt"}),))
GONE = Text(text="It is done.", match=Match(after_tool=True))
QUESTION = 'Run delete_file(path="a.txt")?'


async def killed_in_a_turn(home: Home, model: ModelServer, *arguments: str, stdin: str) -> None:
    """Start a command, and kill it while the model is to answer."""
    process = await home.start(*arguments)
    assert process.stdin is not None
    process.stdin.write(stdin.encode())
    await model.wait_until(lambda server: server.in_flight == 1, timeout_s=LIMIT_S)
    process.kill()
    await process.communicate()


async def asking(home: Home, *arguments: str, stdin: str) -> asyncio.subprocess.Process:
    """A command that has asked a question and waits for the answer."""
    process = await home.start(*arguments)
    assert process.stdin is not None
    process.stdin.write(stdin.encode())
    await says(process, QUESTION)
    return process


async def test_a_turn_whose_chat_was_killed_goes_on_in_the_next_chat(tmp_path: Path) -> None:
    script: list[Step] = [Hang(), Text(text="Here I am."), Text(text="You are welcome.")]
    chat = ("chat", "greeter", "--session", "s1")
    async with ModelServer(script) as model:
        home = Home(tmp_path, model=model)
        await killed_in_a_turn(home, model, *chat, stdin="where are you?\n")
        again = await home.run(*chat, stdin="thanks\n")
        said = [message.text for message in model.requests[-1].messages]
    assert again.stdout.splitlines() == [
        "not ended yet: where are you?",
        "a turn of this session was cut off; going on with it",
        "Here I am.",
        "You are welcome.",
    ]
    assert said == ["where are you?", "Here I am.", "thanks"]
    assert again.code == 0


async def test_a_message_waits_for_the_turn_that_was_cut_off(tmp_path: Path) -> None:
    script: list[Step] = [
        Hang(),
        Text(text="First.", match=Match(last_user="one")),
        Text(text="Second.", match=Match(last_user="two")),
    ]
    async with ModelServer(script) as model:
        home = Home(tmp_path, model=model)
        await killed_in_a_turn(home, model, "run", "greeter", "one", "--session", "s1", stdin="")
        ended = await home.run("run", "greeter", "two", "--session", "s1")
        said = [message.text for message in model.requests[-1].messages]
    assert "a turn of this session was cut off; going on with it" in ended.stderr
    assert (ended.code, ended.stdout) == (0, "Second.\n")
    assert said == ["one", "First.", "two"]


async def test_a_question_asked_before_the_kill_is_asked_again_and_answered_once(
    tmp_path: Path,
) -> None:
    chat = ("chat", "greeter", "--session", "s1")
    async with ModelServer([DELETE, GONE]) as model:
        home = Home(tmp_path, model=model)
        first = await asking(home, *chat, stdin="delete it\n")
        first.kill()
        await first.communicate()
        left_open = await home.run(*chat)
        answered = await home.run(*chat, stdin="y\n")
        nothing_more = await home.run(*chat)
        received = model.received
    assert left_open.code == 3
    assert [QUESTION in line for line in left_open.stdout.splitlines()] == [True]
    assert answered.stdout.splitlines()[1:] == ['← delete_file: "a.txt is gone"', GONE.text]
    assert answered.stdout.startswith(QUESTION)
    assert answered.code == 0
    assert (nothing_more.code, nothing_more.stdout) == (0, "")
    assert received == 2


async def test_a_second_chat_on_an_sqlite_file_is_refused_and_the_first_one_goes_on(
    tmp_path: Path,
) -> None:
    chat = ("chat", "greeter", "--session", "s1")
    async with ModelServer([DELETE, GONE]) as model:
        home = Home(tmp_path, model=model)
        first = await asking(home, *chat, stdin="delete it\n")
        second = await home.run(*chat, stdin="y\n")
        rest, _ = await asyncio.wait_for(first.communicate(b"y\n"), LIMIT_S)
    assert second.code == 2
    assert f"({first.pid})" in second.stderr
    assert "PostgreSQL" in second.stderr
    assert "a.txt is gone" not in second.stdout
    assert rest.decode().splitlines()[-2:] == ['← delete_file: "a.txt is gone"', GONE.text]
    assert first.returncode == 0


@pytest.mark.postgres
async def test_an_answer_that_comes_second_is_refused_and_the_chat_goes_on(
    tmp_path: Path, own_postgres: str
) -> None:
    script: list[Step] = [DELETE, GONE, Text(text="You are welcome.")]
    chat = ("chat", "greeter", "--session", "s1")
    async with ModelServer(script) as model:
        home = Home(tmp_path, model=model, variables={"ODA_DATABASE_URL": own_postgres})
        slow = await asking(home, *chat, stdin="delete it\n")
        quick = await home.run(*chat, stdin="y\n")
        rest, _ = await asyncio.wait_for(slow.communicate(b"n\nthanks\n"), LIMIT_S)
    assert "a.txt is gone" in quick.stdout
    refusal, answer = rest.decode().splitlines()
    assert refusal.startswith("error: The turn")
    assert "answered already" in refusal
    assert answer == "You are welcome."


async def test_what_a_host_application_was_asked_is_asked_too(tmp_path: Path) -> None:
    async with ModelServer([DELETE, GONE]) as model:
        home = Home(tmp_path, model=model)
        async with OdaContext.from_settings(
            agents_dir=tmp_path / "agents",
            data_dir=tmp_path / "data",
            model="gemini-stub",
            model_api_base=model.url,
        ) as oda:
            session = await oda.sessions.create("greeter", session_id="s1")
            assert (await session.ask("delete it")).status == "waiting_input"
        answered = await home.run("chat", "greeter", "--session", "s1", stdin="y\n")
    assert answered.stdout.startswith(QUESTION)
    assert answered.stdout.splitlines()[1:] == ['← delete_file: "a.txt is gone"', GONE.text]
