"""Capabilities by name, and what an agent that is made of them has."""

import copy
import logging
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.skill_toolset import SkillToolset

from oda import Capability, ToolPolicy, create_agent
from oda.config import configured_by, load_configuration
from oda.errors import ConfigurationError
from oda.tools.capabilities import CapabilityRegistry
from oda.tools.policed import PolicedToolset
from oda.tools.policy import EntryMode

EVERYTHING = ToolPolicy(allow=("*",))


def find(thing: str) -> str:
    """Find a thing."""
    return thing


def pay(amount: int) -> int:
    """Pay an amount."""
    return amount


def greet(agent: LlmAgent) -> None:
    """A set-up."""
    agent.description += "set up by the file"


async def open_something(agent: LlmAgent) -> None:
    """A set-up that cannot be one."""


not_a_tool = 5


def made(capabilities: Iterable[str | Capability], **options: Any) -> LlmAgent:
    mode: EntryMode = options.pop("mode", "interactive")
    return create_agent(mode, capabilities, name="clerk", **{"model": "m", **options})


def tool_names(agent: LlmAgent) -> list[str]:
    return [cast(BaseTool, tool).name for tool in agent.tools]


def from_files(directory: Path, text: str, build: Callable[[], LlmAgent]) -> LlmAgent:
    """What is built while an application with this capabilities.yaml loads it."""
    (directory / "capabilities.yaml").write_text(text, encoding="utf-8")
    with configured_by(lambda: load_configuration(directory)):
        return build()


# --- what oda brings


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("base", []),
        ("sourcing", ["web_search", "fetch_page"]),
        ("analyst", ["run_python", "read_file", "write_file", "edit_file", "list_files"]),
        ("writer", ["read_file", "write_file", "edit_file", "list_files"]),
        (
            "translator",
            [
                "read_file",
                "write_file",
                "edit_file",
                "list_files",
                "read_segments",
                "write_translations",
                "run_python",
            ],
        ),
    ],
)
@pytest.mark.parametrize("mode", ["interactive", "automated"])
def test_what_oda_brings_lets_its_own_tools_through(
    name: str, tools: list[str], mode: EntryMode
) -> None:
    def named(name: str) -> FunctionTool:
        tool = FunctionTool(find)
        tool.name = name
        return tool

    agent = made([name], tools=[*map(named, tools), named("rm")], mode=mode)
    assert tool_names(agent) == tools
    assert f"# {name}\n\n" in str(agent.instruction)


# --- an agent


def test_instructions_come_in_order_under_headings() -> None:
    agent = made(
        [Capability("b", "Do B."), Capability("quiet"), Capability("a", "Do A.")],
        base_instructions="Be good.",
        product_instructions="Sell hats.",
    )
    text = str(agent.instruction)
    assert text.startswith("Be good.\n\n# Text by strangers\n\n")
    assert text.endswith("\n\nSell hats.\n\n# b\n\nDo B.\n\n# a\n\nDo A.")


def test_tools_are_those_that_the_policy_lets_through_in_this_mode() -> None:
    shop = Capability("shop", tools=[find, pay], tool_policy=ToolPolicy(allow=("find",)))
    cash = Capability("cash", tool_policy=ToolPolicy(allow_interactive=("pay",)))
    assert tool_names(made([shop, cash])) == ["find", "pay"]
    assert tool_names(made([shop, cash], mode="automated")) == ["find"]
    assert tool_names(made([], tools=[find, pay], tool_policy=EVERYTHING)) == ["find", "pay"]
    assert tool_names(made([shop, shop])) == ["find"]


def test_a_tool_that_no_run_may_use_is_told_to_the_operator(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert made([Capability("shop", tools=[find])]).tools == []
    (record,) = [one for one in caplog.records if one.msg == "tool_barred_in_every_mode"]
    assert (record.__dict__["agent"], record.__dict__["tool"]) == ("clerk", "find")


async def test_a_confirmed_tool_is_a_copy() -> None:
    tool = FunctionTool(pay)
    policy = ToolPolicy(allow=("pay",), require_confirmation=("p*",))
    (asking,) = made([], tools=[tool], tool_policy=policy).tools
    assert isinstance(asking, FunctionTool)
    assert await asking.check_require_confirmation({}, cast(Any, None)) is True
    assert await tool.check_require_confirmation({}, cast(Any, None)) is False


class Shelf(BaseToolset):
    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        away = BaseTool(name="away", description="")
        away.only_explains = True  # type: ignore[attr-defined]
        return [FunctionTool(find), FunctionTool(pay), away]


async def test_toolsets_are_looked_through_under_the_names_that_models_see() -> None:
    policy = ToolPolicy(allow=("shop_find",), require_confirmation=("shop_*",))
    (toolset,) = made([], tools=[Shelf(tool_name_prefix="shop")], tool_policy=policy).tools
    assert isinstance(toolset, PolicedToolset)
    (tool, away) = await toolset.get_tools_with_prefix(None)
    assert (tool.name, away.name) == ("shop_find", "shop_away")
    assert await tool.check_require_confirmation({}, cast(Any, None)) is True


def test_an_agent_can_be_copied_and_pickled() -> None:
    capability = Capability("c", tools=[find, pay], tool_policy=EVERYTHING, untrusted=("find",))
    helper = made([capability])
    agent = create_agent(
        "interactive", [capability, "base"], name="head", model="m", sub_agents=[helper]
    )
    for other in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent), agent.clone()):
        assert other.instruction == agent.instruction
        assert (
            tool_names(other) == tool_names(cast(LlmAgent, other.sub_agents[0])) == ["find", "pay"]
        )


def test_set_ups_are_called_in_order_with_the_finished_agent() -> None:
    called: list[str] = []
    first = Capability("a", setup=lambda agent: called.append(f"a {agent.name}"))
    made([first, Capability("b", setup=lambda agent: called.append(f"b {agent.name}"))])
    assert called == ["a clerk", "b clerk"]


async def test_skills_are_read_by_tools_of_adk(tmp_path: Path) -> None:
    for name in ("hats", "shoes"):
        (tmp_path / name).mkdir()
        text = f"---\nname: {name}\ndescription: All about {name}.\n---\nSell {name}."
        (tmp_path / name / "SKILL.md").write_text(text, encoding="utf-8")
    for folders in ([tmp_path], [tmp_path / "hats", tmp_path / "shoes"]):
        (toolset,) = made([Capability("selling", skills=folders)]).tools
        assert isinstance(toolset, SkillToolset)
        names = [tool.name for tool in await toolset.get_tools(None)]
        assert names == ["list_skills", "load_skill", "load_skill_resource"]
        assert [skill.name for skill in toolset._list_skills()] == ["hats", "shoes"]
    with pytest.raises(ConfigurationError, match=r"there is no SKILL\.md"):
        (tmp_path / "empty").mkdir()
        made([Capability("selling", skills=[tmp_path / "empty"])])


# --- names and files


def test_a_file_says_all_that_code_can(tmp_path: Path) -> None:
    text = f"""
    capabilities:
      shop:
        instructions: Sell hats.
        tools: [find, "{__name__}:pay"]
        tool_policy: {{allow: [find], allow_interactive: [pay]}}
        setup: {__name__}:greet
      base: {{instructions: Ours.}}
    """
    agent = from_files(tmp_path, text, lambda: made(["shop", "base"], tools=[find]))
    assert tool_names(agent) == ["find", "pay"]
    assert str(agent.instruction).endswith("# shop\n\nSell hats.\n\n# base\n\nOurs.")
    assert agent.description == "set up by the file"


def test_a_registered_capability_stands_between_the_files_and_what_oda_brings(
    tmp_path: Path,
) -> None:
    registry = CapabilityRegistry()
    registry.register(Capability("base", "Registered.", tools=["find"], tool_policy=EVERYTHING))
    registry.register_tool("find", f"{__name__}:find")

    def build() -> LlmAgent:
        return made(["base"], registry=registry)

    agent = from_files(tmp_path, "capabilities:", build)
    assert str(agent.instruction).endswith("Registered.") and tool_names(agent) == ["find"]
    agent = from_files(tmp_path, "capabilities: {base: {instructions: Ours.}}", build)
    assert str(agent.instruction).endswith("Ours.") and agent.tools == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "c: {tools: [fnd]}",
            r"capabilities\.yaml: capabilities\.c: tools: there is no tool 'fnd' \(give it to",
        ),
        ("c: {tools: ['nowhere:x']}", r"capabilities\.c: tools: 'nowhere:x' cannot be imported"),
        (f"c: {{tools: ['{__name__}:not_a_tool']}}", r"capabilities\.c: tools: .* is no tool"),
        ("c: {setup: 'nowhere:x'}", r"capabilities\.c\.setup: 'nowhere:x' cannot be imported"),
        ("c: {setup: greet}", r"capabilities\.c\.setup: an import path has the form"),
        (f"c: {{setup: '{__name__}:open_something'}}", "the setup of the capability 'c' is async"),
        ("c: {tool_policy: {allow: pay}}", r"capabilities\.c\.tool_policy\.allow: "),
        ("c: {tool_policy: {deny: [pay]}}", r"tool_policy\.deny: unknown key"),
        ("c: {skills: [nowhere]}", r"the skills in '.*/nowhere' cannot be read"),
        ("basis: {}", r"there is no capability 'c' \(there are: analyst, base, basis, "),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_remedy(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        from_files(tmp_path, f"capabilities: {{{text}}}", lambda: made(["c"]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: made(["sourcing"]), "the capability 'sourcing' of oda: tools: there is no tool"),
        (lambda: made(["sorcing"]), "did you mean 'sourcing'"),
        (lambda: made([], mode="sometimes"), "there is no entry mode 'sometimes'"),
        (lambda: made([], instruction="x"), "give product_instructions"),
        (lambda: made([], tools=[find, FunctionTool(find)]), "there are two tools 'find'"),
    ],
)
def test_what_code_gets_wrong_is_said_with_a_remedy(
    build: Callable[[], LlmAgent], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build()


def test_a_tool_is_registered_under_its_own_name() -> None:
    registry = CapabilityRegistry()
    registry.register_tool("search", find)
    with pytest.raises(ConfigurationError, match="the tool 'search' calls itself 'find'"):
        made([Capability("c", tools=["search"])], registry=registry)
