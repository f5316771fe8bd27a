"""Any ADK agents folder is served as it is."""

from pathlib import Path

import pytest

from oda import OdaContext
from oda.errors import AgentLoadError, AgentNotFoundError, ConfigurationError
from oda.testing import ModelServer
from oda.testing.script import Call, Error, Step, Text, ToolCalls

OWN_MODEL = """
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b

{name} = LlmAgent(
    name="{agent}", tools=[add], instruction="Add.",
    model=LiteLlm(model="openai/own", api_base="{base}", api_key="own"),
)
"""
AS_APP = """
from google.adk.apps import App
app = App(name="{agent}", root_agent=inner)
"""
GRAPH = """
from google.adk.workflow import Workflow
root_agent = Workflow(name="{agent}", edges=[("START", inner)])
"""


def write(folder: Path, kind: str, base: str) -> None:
    agent = folder.name
    text = OWN_MODEL.format(
        name="root_agent" if kind in ("agent.py", "package") else "inner", agent=agent, base=base
    )
    folder.mkdir(parents=True)
    match kind:
        case "agent.py":
            (folder / "agent.py").write_text(text)
        case "package":
            (folder / "__init__.py").write_text(text)
        case "app":
            (folder / "agent.py").write_text(text + AS_APP.format(agent=agent))
        case "graph":
            (folder / "agent.py").write_text(text + GRAPH.format(agent=agent))


def context(agents: Path, tmp_path: Path) -> OdaContext:
    return OdaContext.from_settings(
        agents_dir=agents,
        data_dir=tmp_path / "data",
        config_dir=tmp_path / "config",
        session_service="memory://",
        retry={"initial_delay_s": 0.01},
    )


@pytest.mark.parametrize("kind", ["agent.py", "package", "app", "graph"])
async def test_an_agent_with_a_model_of_its_own_gets_our_retry_and_not_its_clients(
    kind: str, tmp_path: Path
) -> None:
    name = f"own_{kind.replace('.', '_')}"
    steps: list[Step] = [
        ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)),
        Error(status=500),
        Text(text="Five."),
    ]
    async with ModelServer(steps) as server:
        write(tmp_path / "agents" / name, kind, server.openai_base)
        async with context(tmp_path / "agents", tmp_path) as oda:
            session = await oda.sessions.create(name)
            reply = await session.ask("2 + 3?")
        assert (reply.status, reply.text) == ("succeeded", "Five.")
        assert [e.error_code for e in reply.events if e.error_code] == ["RETRY_ATTEMPT"]
        assert server.received == 3


async def test_an_agent_may_be_pure_yaml(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "plain"
    folder.mkdir(parents=True)
    (folder / "root_agent.yaml").write_text(
        "name: plain\nmodel: gemini-2.5-flash\ninstruction: Answer.\n"
    )
    config = tmp_path / "config"
    config.mkdir()
    async with ModelServer([Text(text="From YAML.")]) as server:
        (config / "models.yaml").write_text(
            f"models:\n  local:\n    model: openai/x\n    api_base: {server.openai_base}\n"
        )
        (config / "agents.yaml").write_text("agents:\n  plain:\n    model: local\n")
        async with context(tmp_path / "agents", tmp_path) as oda:
            assert (await (await oda.sessions.create("plain")).ask("hi")).text == "From YAML."


async def test_the_folder_of_a_single_agent_is_an_agents_folder(tmp_path: Path) -> None:
    async with ModelServer([Text(text="Alone.")]) as server:
        folder = tmp_path / "lonely_one"
        write(folder, "agent.py", server.openai_base)
        async with context(folder, tmp_path) as oda:
            assert oda.definitions.names() == ["lonely_one"]
            assert (await (await oda.sessions.create("lonely_one")).ask("hi")).text == "Alone."


async def test_a_broken_agent_is_listed_and_harms_no_other(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    (agents / "broken_one").mkdir(parents=True)
    (agents / "broken_one" / "agent.py").write_text("import nothing_of_that_name\n")
    async with ModelServer() as server:
        write(agents / "sound_one", "agent.py", server.openai_base)
        async with context(agents, tmp_path) as oda:
            assert oda.definitions.names() == ["broken_one", "sound_one"]
            with pytest.raises(AgentLoadError, match="nothing_of_that_name"):
                await oda.sessions.create("broken_one")
            assert (await (await oda.sessions.create("sound_one")).ask("hi")).ok


async def test_an_unknown_agent_is_named_with_those_that_exist(tmp_path: Path) -> None:
    async with ModelServer() as server:
        write(tmp_path / "agents" / "known_one", "agent.py", server.openai_base)
        async with context(tmp_path / "agents", tmp_path) as oda:
            with pytest.raises(AgentNotFoundError, match="known_one"):
                await oda.sessions.create("unknown_one")


async def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--agents"):
        async with context(tmp_path / "nowhere", tmp_path):
            pass


async def test_the_configuration_changes_an_agent_for_new_sessions_without_a_restart(
    tmp_path: Path,
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    async with ModelServer([Text(text="own")]) as own, ModelServer([Text(text="other")]) as other:
        write(tmp_path / "agents" / "changing", "agent.py", own.openai_base)
        (config / "models.yaml").write_text(
            f"models:\n  other:\n    model: openai/x\n    api_base: {other.openai_base}\n"
        )
        async with context(tmp_path / "agents", tmp_path) as oda:
            assert (await (await oda.sessions.create("changing")).ask("hi")).text == "own"
            (config / "agents.yaml").write_text(
                "agents:\n  changing:\n    model: other\n    description: Changed.\n"
            )
            assert (await (await oda.sessions.create("changing")).ask("hi")).text == "other"
            assert oda.definitions.get("changing").description == "Changed."
            (config / "agents.yaml").write_text("agents:\n")
            assert oda.definitions.get("changing").description == ""
