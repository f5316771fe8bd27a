"""`oda chat`, in a pipe and on a terminal, against the real model server."""

from pathlib import Path

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Match, Step, Text, ToolCalls
from tests.support.oda_command import Home

DELETE = ToolCalls(calls=(Call(name="delete_file", args={"path": "a.txt"}),))
GONE = Text(text="It is done.", match=Match(after_tool=True))

SLEEPER = """
import time

from google.adk.agents import LlmAgent

from oda import configured_model


def sleep() -> None:
    \"\"\"Sleep for an hour.\"\"\"
    print("zzz", flush=True)
    time.sleep(3600)


root_agent = LlmAgent(name="sleeper", model=configured_model(), tools=[sleep])
"""

KEEPER = """
from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext

from oda import DocumentApp, configured_model


def write(name: str, city: str, tool_context: ToolContext) -> str:
    \"\"\"Write the card, and a note that nobody has to see.\"\"\"
    tool_context.state["card"] = {"name": name, "places": [{"city": city}]}
    tool_context.state["note"] = "secret"
    return "written"


root_agent = LlmAgent(name="keeper", model=configured_model(), tools=[write])
app = DocumentApp(name="keeper", root_agent=root_agent, documents=("card", "other"))
"""


def writes(name: str, city: str) -> list[Step]:
    call = Call(name="write", args={"name": name, "city": city})
    return [ToolCalls(calls=(call,)), Text(text="Done.")]


async def test_two_refusals_are_shown_as_retries_and_then_the_answer(tmp_path: Path) -> None:
    async with ModelServer([Error(status=429, times=2), Text(text="Hello, Anna.")]) as model:
        ended = await Home(tmp_path, model=model).run(
            *("chat", "greeter"),
            stdin="I am Anna\n",
            MODEL="openai/stub",
            MODEL_API_BASE=model.openai_base,
        )
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("↻ retry 1/3 in 0.1 s: rate_limited")
    assert lines[1].startswith("↻ retry 2/3 in 0.1 s: rate_limited")
    assert lines[2:] == ["Hello, Anna."]
    assert ended.code == 0


async def test_each_line_of_a_pipe_is_a_message_and_tools_are_shown(tmp_path: Path) -> None:
    call = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),))
    script: list[Step] = [call, Text(text="Sunny."), Text(text="You are welcome.")]
    async with ModelServer(script) as model:
        ended = await Home(tmp_path, model=model).run(
            "chat", "greeter", stdin="weather in Rome?\n\nthanks\n"
        )
    assert ended.stdout.splitlines() == [
        '→ weather(city="Rome")',
        '← weather: "sunny in Rome"',
        "Sunny.",
        "You are welcome.",
    ]


async def test_a_session_goes_on_in_another_process(tmp_path: Path) -> None:
    async with ModelServer() as model:
        home = Home(tmp_path, model=model)
        await home.run("chat", "greeter", "--session", "s1", stdin="I am Anna\n")
        await home.run("chat", "greeter", "--session", "s1", stdin="who am I?\n")
        said = [message.text for message in model.requests[-1].messages]
    assert said == ["I am Anna", "You said: I am Anna", "who am I?"]


async def test_a_confirmation_is_asked_and_answered(tmp_path: Path) -> None:
    async with ModelServer([DELETE, GONE]) as model:
        ended = await Home(tmp_path, model=model).run(
            "chat", "greeter", stdin="delete it\nwhat?\ny\n"
        )
    assert 'Run delete_file(path="a.txt")?' in ended.stdout
    assert '← delete_file: "a.txt is gone"' in ended.stdout
    assert ended.stdout.endswith("It is done.\n")
    assert ended.code == 0


async def test_a_question_that_was_left_open_is_asked_when_the_session_goes_on(
    tmp_path: Path,
) -> None:
    async with ModelServer([DELETE, GONE]) as model:
        home = Home(tmp_path, model=model)
        waiting = await home.run("run", "greeter", "delete it", "--session", "s1")
        answered = await home.run("chat", "greeter", "--session", "s1", stdin="n\n")
    assert waiting.code == 3
    assert waiting.stdout == ""
    assert 'waits: Run delete_file(path="a.txt")?' in waiting.stderr
    assert "rejected" in answered.stdout
    assert answered.stdout.endswith("It is done.\n")


async def test_a_failed_message_does_not_end_the_chat_but_shows_in_the_exit_code(
    tmp_path: Path,
) -> None:
    async with ModelServer([Error(status=401), Text(text="Better now.")]) as model:
        ended = await Home(tmp_path, model=model).run("chat", "greeter", stdin="one\ntwo\n")
    first, second = ended.stdout.splitlines()
    assert first.startswith("error: authentication:")
    assert second == "Better now."
    assert ended.code == 1


async def test_ctrl_c_cancels_the_answer_and_the_chat_goes_on(tmp_path: Path) -> None:
    script: list[Step] = [Hang(match=Match(last_user="one")), Text(text="Fine again.")]
    async with (
        ModelServer(script) as model,
        Home(tmp_path, model=model).terminal("chat", "greeter") as terminal,
    ):
        await terminal.shows("> ")
        terminal.type("one\r")
        await model.wait_until(lambda server: server.in_flight == 1, timeout_s=30)
        terminal.type("\x03")
        await terminal.shows("cancelled")
        terminal.type("two\r")
        await terminal.shows("Fine again.")
        await terminal.shows("> ", times=3)
        terminal.type("\x04")
        assert await terminal.ends() == 0


async def test_on_a_terminal_text_comes_as_it_is_made_and_is_taken_back(tmp_path: Path) -> None:
    script: list[Step] = [
        Cut(chunks=("Half ", "an answer")),
        Text(chunks=("The ", "whole answer.")),
    ]
    async with (
        ModelServer(script) as model,
        Home(tmp_path, model=model).terminal("chat", "greeter") as terminal,
    ):
        await terminal.shows("> ")
        terminal.type("hello\r")
        await terminal.shows("whole answer.")
    assert model.requests[0].stream
    shown = terminal.text
    taken_back = shown.index("\r\x1b[J")
    assert shown.index("Half an answer") < taken_back < shown.index("↻ retry 1/3")
    assert shown.count("The whole answer.") == 1


async def test_ctrl_c_at_the_prompt_leaves(tmp_path: Path) -> None:
    async with Home(tmp_path).terminal("chat", "greeter") as terminal:
        await terminal.shows("> ")
        assert await terminal.ends_at_last("\x03") == 130


async def test_a_second_ctrl_c_leaves_though_a_tool_is_stuck(tmp_path: Path) -> None:
    stuck = ToolCalls(calls=(Call(name="sleep"),))
    async with ModelServer([stuck]) as model:
        home = Home(tmp_path, model=model)
        home.write("agents/sleeper/agent.py", SLEEPER)
        async with home.terminal("chat", "sleeper") as terminal:
            await terminal.shows("> ")
            terminal.type("sleep\r")
            await terminal.shows("zzz")
            assert await terminal.ends_at_last("\x03") == 130


async def test_a_turn_that_has_used_up_its_limit_asks_whether_it_may_go_on(tmp_path: Path) -> None:
    call = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),))
    async with ModelServer([call, Text(text="Sunny.", match=Match(after_tool=True))]) as model:
        ended = await Home(tmp_path, model=model).run(
            "chat",
            "greeter",
            stdin="weather in Rome?\ny\n",
            TURN__MODEL_CALLS="1",
            TURN__ON_LIMIT="ask",
        )
    assert "The limit of 1 model calls is used up. Allow as much again?" in ended.stdout
    assert ended.stdout.endswith("Sunny.\n")
    assert ended.code == 0


async def test_a_message_that_is_refused_does_not_end_the_chat(tmp_path: Path) -> None:
    async with ModelServer() as model:
        ended = await Home(tmp_path, model=model).run(
            "chat", "greeter", stdin="one\ntwo\n", DAY__MODEL_CALLS="1"
        )
    answer, refusal = ended.stdout.splitlines()
    assert answer == "You said: one"
    assert refusal.startswith("error: You have used up your limit of 1 model call")
    assert ended.code == 1


async def test_what_a_turn_has_changed_in_a_document_is_shown_after_it(tmp_path: Path) -> None:
    script = [*writes("Anna", "Rome"), *writes("Eva", "Rome"), Text(text="Nothing to do.")]
    async with ModelServer(script) as model:
        home = Home(tmp_path, model=model)
        home.write("agents/keeper/agent.py", KEEPER)
        ended = await home.run("chat", "keeper", "--session", "s1", stdin="one\ntwo\nthree\n")
    assert [line for line in ended.stdout.splitlines() if line[:1] not in "→←"] == [
        "Done.",
        "card:",
        "+ name: Anna",
        "+ places[0]",
        "+   city: Rome",
        "Done.",
        "card:",
        "~ name: Anna -> Eva",
        "Nothing to do.",
    ]


async def test_only_the_answer_of_a_run_goes_to_stdout(tmp_path: Path) -> None:
    async with ModelServer(writes("Anna", "Rome")) as model:
        home = Home(tmp_path, model=model)
        home.write("agents/keeper/agent.py", KEEPER)
        ended = await home.run("run", "keeper", "write")
    assert ended.stdout == "Done.\n"
    assert "Anna ->" not in ended.stderr and "card:" not in ended.stderr


async def test_on_a_terminal_a_document_changes_in_colour(tmp_path: Path) -> None:
    async with ModelServer([*writes("Anna", "Rome"), *writes("Eva", "Oslo")]) as model:
        home = Home(tmp_path, model=model)
        home.write("agents/keeper/agent.py", KEEPER)
        async with home.terminal("chat", "keeper") as terminal:
            await terminal.shows("> ")
            terminal.type("one\r")
            await terminal.shows("\x1b[32m+ name: Anna\x1b[0m")
            await terminal.shows("> ", times=2)
            terminal.type("two\r")
            await terminal.shows("\x1b[31mAnna\x1b[0m -> \x1b[32mEva\x1b[0m")
            await terminal.shows("\x1b[31m- places[0]\x1b[0m")
            await terminal.shows("\x1b[32m+   city: Oslo\x1b[0m")


async def test_there_is_no_colour_for_who_wants_none(tmp_path: Path) -> None:
    async with ModelServer(writes("Anna", "Rome")) as model:
        home = Home(tmp_path, model=model, variables={"NO_COLOR": "1"})
        home.write("agents/keeper/agent.py", KEEPER)
        async with home.terminal("chat", "keeper") as terminal:
            await terminal.shows("> ")
            terminal.type("one\r")
            await terminal.shows("+   city: Rome")
            assert "\x1b[3" not in terminal.text


async def test_a_file_is_attached_imported_exported_and_saved(tmp_path: Path) -> None:
    home = Home(tmp_path)
    resume = home.write("my cv.md", "# Jane Roe\n\njane@example.com\n\n## Skills\n\n- Rust\n")
    said = (
        f"/attach {resume}\nimport this\nexport it as PDF\n/save\n"
        f"/save resume-Jane Roe.pdf {tmp_path}/out.pdf\n"
    )
    agents = Path(__file__).parents[2] / "agents"
    ended = await home.run("chat", "cv", "--agents", str(agents), stdin=said)
    assert "my cv.md, resume-Jane Roe.pdf" in ended.stdout
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
    assert ended.code == 0


async def test_a_file_that_is_not_there_is_told_and_the_talk_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    async with ModelServer([Text(text="Seen.")]) as model:
        ended = await Home(tmp_path, model=model).run(
            "chat",
            "greeter",
            stdin=f"/attach {tmp_path}/none.pdf\n/save none\n/attach {kept}\nlook\n",
        )
    assert "No such file" in ended.stdout
    assert "there is no such file in this session" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "Seen."
    assert "'mine'" in str(model.requests[0].body)
    assert ended.code == 1
