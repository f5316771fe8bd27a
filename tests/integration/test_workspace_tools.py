"""The workspace's tools, called by an agent in a turn."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool

from oda import ToolCallContext, ToolHook, ToolHooks
from oda.errors import SandboxUnavailableError, WorkspaceError
from oda.settings import Settings
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Text, ToolCalls
from oda.workspace.sandbox.choice import Sandboxes, default_sandboxes
from oda.workspace.text import read_text
from oda.workspace.tools import edit_file, list_files, read_file, run_python, write_file
from oda.workspace.workspaces import Workspaces, default_workspaces
from tests.support.roots import LLM
from tests.support.stage import stage

TURN = "turn-1"
TOOLS = [read_file, write_file, edit_file, list_files, run_python]
DONE = Text(text="done")


class World:
    """Workspaces below a directory, and an agent that does as it is told."""

    def __init__(self, workspaces: Workspaces, sandboxes: Sandboxes) -> None:
        self.workspaces = workspaces
        self.sandboxes = sandboxes
        self.session_id = ""
        self.errors: list[str | None] = []

    async def answers(self, *calls: tuple[str, dict[str, Any]], tools: Any = TOOLS) -> list[Any]:
        """What each call is answered, one after the other in one turn."""
        errors = self.errors

        class Witness(ToolHook):
            async def post_tool_call(self, call: ToolCallContext) -> None:
                errors.append(call.error)

        steps = [
            ToolCalls(calls=(Call(name=name, id=f"c{number}", args=args),))
            for number, (name, args) in enumerate(calls)
        ]
        play = await stage(
            LLM,
            [*steps, DONE],
            tools=tools,
            change=lambda app: app.plugins.append(ToolHooks([Witness()])),
        )
        self.session_id = play.agent.session_id
        events = await play.ask(invocation_id=TURN)
        return [one.response for event in events for one in event.get_function_responses()]


def settings(directory: Path, **more: Any) -> Settings:
    return Settings.load(
        data_dir=directory,
        workspace={"quota_bytes": 2**20, "quota_files": 50, "read_chars": 1000},
        **more,
    )


async def world_of(ours: Settings) -> AsyncIterator[World]:
    clock = FakeClock(1_700_000_000.0)
    workspaces = Workspaces(ours.workspace_root, ours.workspace, clock)
    async with Sandboxes(ours) as sandboxes:
        with ExitStack() as stack:
            stack.enter_context(default_workspaces.set(workspaces))
            stack.enter_context(default_sandboxes.set(sandboxes))
            yield World(workspaces, sandboxes)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async for one in world_of(settings(tmp_path, sandbox="none")):
        yield one


@pytest.fixture
async def world_with_sandbox(tmp_path: Path) -> AsyncIterator[World]:
    async for one in world_of(settings(tmp_path)):
        yield one


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        (read_file, {"path", "offset"}),
        (write_file, {"path", "content"}),
        (edit_file, {"path", "old", "new"}),
        (list_files, {"path"}),
        (run_python, {"code"}),
    ],
)
def test_a_model_is_told_of_the_parameters_that_are_its_own(
    tool: Any, parameters: set[str]
) -> None:
    declaration = FunctionTool(tool)._get_declaration()
    assert declaration is not None
    assert declaration.name == tool.__name__
    schema = declaration.parameters_json_schema or declaration.parameters.model_dump()  # type: ignore[union-attr]
    assert set(schema["properties"]) == parameters


async def test_files_lie_in_the_directory_of_the_turn(world: World, tmp_path: Path) -> None:
    answers = await world.answers(
        ("write_file", {"path": "output/a.html", "content": "<p>中文</p>"}),
        ("list_files", {}),
        ("list_files", {"path": "input"}),
        ("read_file", {"path": "data/../output/a.html"}),
        ("read_file", {"path": "output/a.md"}),
    )

    assert answers[:3] == [
        {"path": "output/a.html", "bytes": 13},
        {"files": [{"path": "output/a.html", "bytes": 13}]},
        {"files": []},
    ]
    assert [answer["error"]["code"] for answer in answers[3:]] == [
        "path_refused",
        "workspace_error",
    ]
    file = tmp_path / "workspaces" / world.session_id / TURN / "output" / "a.html"
    assert file.read_text("utf-8") == "<p>中文</p>"


@pytest.mark.parametrize("spoilt", ["a\0.txt", "a\ud800.txt"])
async def test_arguments_that_no_store_takes_are_refused_not_changed(
    world: World, spoilt: str, tmp_path: Path
) -> None:
    answers = await world.answers(
        ("write_file", {"path": f"output/{spoilt}", "content": "x"}),
        ("write_file", {"path": "output/b.txt", "content": spoilt}),
        ("write_file", {"path": "output/c.txt", "content": "x", spoilt: [{"deep": spoilt}]}),
        ("write_file", {"path": "output/a\ufffd.txt", "content": "x"}),
        ("list_files", {}),
    )

    for answer, argument in zip(answers[:3], ("path", "content", ""), strict=True):
        assert answer["status"] == "refused"
        assert answer["error"]["code"] == "invalid_arguments"
        assert argument in answer["error"]["message"]
    assert answers[3]["error"]["code"] == "path_refused"
    assert answers[4] == {"files": []}


async def test_refusals_have_a_code_and_say_what_to_do(world: World) -> None:
    answers = await world.answers(
        ("read_file", {"path": "/etc/passwd"}),
        ("write_file", {"path": "../x", "content": "x"}),
        ("list_files", {"path": "a\\b"}),
        ("write_file", {"path": "output/big", "content": "x" * (2**20 + 1)}),
        ("write_file", {"path": "output/x", "content": {"no": "text"}}),
        ("run_python", {"code": "print(1)"}),
        ("read_file", {"path": 7}),
    )

    assert [set(answer) for answer in answers] == [{"error"}] * 7
    assert [set(answer["error"]) for answer in answers] == [{"code", "message"}] * 7
    assert [answer["error"]["code"] for answer in answers] == [
        "path_refused",
        "path_refused",
        "path_refused",
        "quota_exceeded",
        "workspace_error",
        "sandbox_unavailable",
        "path_refused",
    ]
    assert "relative to the workspace" in answers[0]["error"]["message"]
    assert "set ODA_SANDBOX=auto" in answers[5]["error"]["message"]
    assert world.errors == [answer["error"]["message"] for answer in answers]


async def test_a_passage_is_replaced_where_it_stands_once(world: World, tmp_path: Path) -> None:
    text = "one two two three"
    answers = await world.answers(
        ("write_file", {"path": "output/a.txt", "content": text}),
        ("edit_file", {"path": "output/a.txt", "old": "one", "new": "one and a half"}),
        ("edit_file", {"path": "output/a.txt", "old": "one", "new": "one and a half"}),
        ("edit_file", {"path": "output/a.txt", "old": "two", "new": "2"}),
        ("edit_file", {"path": "output/a.txt", "old": "four", "new": "4"}),
        ("edit_file", {"path": "output/none.txt", "old": "a", "new": "b"}),
        ("read_file", {"path": "output/a.txt"}),
    )
    assert answers[2]["note"] == "the new text stands there already"
    assert "stands 2 times" in answers[3]["error"]["message"]
    assert "does not stand" in answers[4]["error"]["message"]
    assert answers[5]["error"]["code"] == "workspace_error"
    assert answers[6]["content"] == "one and a half two two three"


async def test_a_long_text_comes_in_pieces(world: World) -> None:
    text = "".join(f"{number:09}\n" for number in range(250))
    _, first, second, last, beyond = await world.answers(
        ("write_file", {"path": "a.txt", "content": text}),
        ("read_file", {"path": "a.txt"}),
        ("read_file", {"path": "a.txt", "offset": 1000}),
        ("read_file", {"path": "a.txt", "offset": 2000}),
        ("read_file", {"path": "a.txt", "offset": 9999}),
    )

    assert first["content"] == f"{text[:1000]}\n\n[more follows: go on with offset 1000 of 2500]"
    assert second["content"].startswith(text[1000:2000])
    assert last["content"] == text[2000:]
    assert beyond["content"] == "[the file ends before offset 9999: it has 2500 characters]"


async def test_texts_are_read_in_their_encoding_and_nothing_else_is(
    world: World,
) -> None:
    async with await world.workspaces.open("session", "run") as workspace:
        for name, content in (
            ("gb.txt", "简体中文".encode("gb18030")),
            ("utf16.txt", "Grüße".encode("utf-16")),
            ("marked.md", "\ufeff# é".encode()),
            ("empty", b""),
            ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0"),
            ("report.docx", b"PK\x03\x04"),
        ):
            await workspace.write(f"input/{name}", content)

        async def read(name: str) -> str:
            return await read_text(
                workspace, f"input/{name}", world.sandboxes, offset=0, max_chars=100
            )

        texts = [await read(name) for name in ("gb.txt", "utf16.txt", "marked.md", "empty")]
        assert texts == ["简体中文", "Grüße", "# é", ""]
        with pytest.raises(WorkspaceError, match="no text"):
            await read("picture.png")
        with pytest.raises(SandboxUnavailableError):
            await read("report.docx")


async def test_an_agent_that_is_a_tool_works_in_the_same_place(world: World) -> None:
    steps = [
        ToolCalls(calls=(Call(name="write_file", args={"path": "data/n", "content": "x"}),)),
        DONE,
    ]
    helper = LlmAgent(name="helper", model=ScriptedModel(steps=steps), tools=[write_file])
    answers = await world.answers(
        ("helper", {"request": "go"}), ("list_files", {}), tools=[AgentTool(helper), *TOOLS]
    )

    assert answers[-1] == {"files": [{"path": "data/n", "bytes": 1}]}


@pytest.mark.sandbox
async def test_code_runs_on_the_files_of_the_turn(world_with_sandbox: World) -> None:
    code = (
        "import sys\n"
        "open('output/sum.txt', 'w').write(str(sum(map(int, open('data/n.txt')))))\n"
        "print('done'); print('hm', file=sys.stderr); print('x' * 5000); sys.exit(3)"
    )
    answers = await world_with_sandbox.answers(
        ("write_file", {"path": "data/n.txt", "content": "1\n2\n"}),
        ("run_python", {"code": code}),
        ("read_file", {"path": "output/sum.txt"}),
        ("run_python", {"code": "open('/etc/passwd')"}),
    )

    ran = answers[1]
    assert set(ran) == {"exit_code", "stdout", "stderr", "files", "timed_out", "truncated"}
    assert (ran["exit_code"], ran["files"], ran["timed_out"]) == (3, ["output/sum.txt"], False)
    assert ran["stdout"].startswith("done\nxxx")
    assert "characters left out" in ran["stdout"]
    assert (ran["stderr"], ran["truncated"]) == ("hm\n", True)
    assert answers[2] == {"path": "output/sum.txt", "content": "3"}
    assert answers[3]["exit_code"] == 1
    assert "passwd" in answers[3]["stderr"]
