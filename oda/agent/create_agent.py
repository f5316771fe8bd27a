"""Creation of agents from capabilities: instructions, skills, and tools under a policy."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from google.adk.agents.llm_agent import LlmAgent, ToolUnion
from google.adk.models.base_llm import BaseLlm
from google.adk.skills import Skill, load_skill_from_dir, load_skills_from_dir
from google.adk.tools.skill_toolset import SkillToolset

from oda.agent.model.configured import configured_model
from oda.agent.run_limits import Deliverable, LimitedRun, RunLimits
from oda.clock import Clock, SystemClock
from oda.errors import ConfigurationError
from oda.telemetry import experimental_on_purpose, get_logger
from oda.tools.addresses import Addresses
from oda.tools.capabilities import CapabilityRegistry
from oda.tools.capabilities import registry as default_registry
from oda.tools.capability import Capability, tool_name
from oda.tools.policed import PolicedTools
from oda.tools.policy import EntryMode, ToolPolicy
from oda.tools.untrusted import RULE, FenceResults

log = get_logger(__name__)

BASE_INSTRUCTIONS = """\
You work on a task with the tools that you have, and decide yourself when it is done. Answer in \
the language in which the user writes.

- Find out before you claim. What you have not read, calculated or been told, you do not know: \
say so.
- When a tool reports an error, read it, change what was wrong and try again, or take another way. \
After the same error three times stop and say what does not work.
- A refused call stays refused: do not try to get round it.
- You have a limited number of rounds. Make several independent calls in one round, and keep one \
round for the answer.
- An answer without a tool call ends the task. Do not announce what you will do next: do it."""

_SKILL_TOOLS = ["list_skills", "load_skill", "load_skill_resource"]
"""ADK's tools for reading skills. Its tool for running a skill's scripts is left out."""


def create_agent(
    entry_mode: EntryMode,
    capabilities: Iterable[str | Capability],
    *,
    name: str,
    model: str | BaseLlm | None = None,
    base_instructions: str = BASE_INSTRUCTIONS,
    product_instructions: str = "",
    description: str = "",
    tools: Sequence[ToolUnion] = (),
    tool_policy: ToolPolicy | None = None,
    limits: RunLimits | None = None,
    deliverable: Deliverable | None = None,
    registry: CapabilityRegistry | None = None,
    clock: Clock | None = None,
    **llm_agent_kwargs: Any,
) -> LlmAgent:
    """Create an ADK agent with the given capabilities; tools that none of them allows are barred.

    Capabilities are looked up immediately. Their set-up functions are called with the finished
    agent before it is returned.

    Args:
        entry_mode: Whether a person starts the agent's runs and can be asked for approval.
        capabilities: Capabilities or their names; the instructions keep their order.
        name: Name of the agent.
        model: By default the configured model `default`.
        base_instructions: How to work; the rule on untrusted text is appended.
        product_instructions: What the application is about; placed before the capabilities'.
        description: Description of the agent for other agents and clients.
        tools: Additional tools, which replace registered tools of the same name. The policy
            applies to them as well.
        tool_policy: Policy to merge with those of the capabilities.
        limits: Limits of a run; by default 15 rounds.
        deliverable: What a run has to leave behind.
        registry: Registry for looking up names; by default that of the process.
        clock: Clock for time limits; by default the system's.
        llm_agent_kwargs: Further arguments of ADK's `LlmAgent`. Callbacks are added to those set
            here.

    Raises:
        ConfigurationError: a name is unknown, or the arguments are inconsistent.
    """
    registry = registry or default_registry
    given = [registry.get(one) if isinstance(one, str) else one for one in capabilities]
    _check(entry_mode, given, llm_agent_kwargs)
    whole = Capability("").merge(*given, Capability("", tool_policy=tool_policy or ToolPolicy()))
    named = {known: tool for tool in tools if (known := tool_name(tool)) is not None}
    every_tool = _distinct(
        [*(tool for one in given for tool in registry.tools_of(one, named)), *tools]
    )
    instruction = _instruction(base_instructions, product_instructions, given)
    addresses = Addresses(
        reaches=whole.reaches,
        finds=whole.finds,
        untrusted=tuple(whole.untrusted),
        trusted=_SKILL_TOOLS,
        instructions=instruction,
    )
    policed = PolicedTools(whole.tool_policy, entry_mode, addresses)
    fence = FenceResults(tuple(whole.untrusted))
    run = LimitedRun(limits or RunLimits(), clock or SystemClock(), deliverable)
    _warn_of_useless_tools(name, every_tool, whole.tool_policy)
    agent = LlmAgent(
        name=name,
        model=model or configured_model(),
        description=description,
        instruction=instruction,
        tools=[*policed.of(every_tool), *_skills(whole.skills)],
        **{
            **llm_agent_kwargs,
            "before_model_callback": [
                *_as_list(llm_agent_kwargs.get("before_model_callback")),
                fence.before_model,
                run.before_model,
            ],
            "after_model_callback": [
                run.after_model,
                *_as_list(llm_agent_kwargs.get("after_model_callback")),
            ],
            "before_tool_callback": [
                policed.refuse,
                *_as_list(llm_agent_kwargs.get("before_tool_callback")),
            ],
        },
    )
    if whole.setup is not None:
        whole.setup(agent)
    return agent


def _check(
    entry_mode: EntryMode, capabilities: Iterable[Capability], llm_agent_kwargs: Mapping[str, Any]
) -> None:
    """Reject invalid arguments before anything is created."""
    if entry_mode not in get_args(EntryMode):
        raise ConfigurationError(
            f"there is no entry mode {entry_mode!r}", remedy="use interactive or automated"
        )
    if "instruction" in llm_agent_kwargs:
        raise ConfigurationError(
            "create_agent makes the instruction itself", remedy="give product_instructions"
        )
    for one in capabilities:
        if inspect.iscoroutinefunction(one.setup):
            raise ConfigurationError(
                f"the setup of the capability {one.name!r} is async",
                remedy="agents are made before there is an event loop: open things at first use",
            )


def _instruction(base: str, product: str, capabilities: Iterable[Capability]) -> str:
    sections = [base, f"# Text by strangers\n\n{RULE}", product]
    sections += [f"# {one.name}\n\n{one.instructions}" for one in capabilities if one.instructions]
    return "\n\n".join(section.strip() for section in sections if section.strip())


def _distinct(tools: Iterable[ToolUnion]) -> list[ToolUnion]:
    distinct: list[ToolUnion] = []
    for tool in tools:
        if tool in distinct:
            continue
        if (name := tool_name(tool)) is not None and name in map(tool_name, distinct):
            raise ConfigurationError(
                f"there are two tools {name!r}", remedy="rename one, or give only one of them"
            )
        distinct.append(tool)
    return distinct


def _warn_of_useless_tools(agent: str, tools: Iterable[ToolUnion], policy: ToolPolicy) -> None:
    for tool in map(tool_name, tools):
        modes = get_args(EntryMode)
        if tool is not None and all(policy.decide(tool, mode) == "barred" for mode in modes):
            log.warning("tool_barred_in_every_mode", agent=agent, tool=tool)


def _skills(folders: Iterable[Path]) -> Iterator[SkillToolset]:
    skills = [skill for folder in folders for skill in _skills_in(folder)]
    if skills:
        with experimental_on_purpose():
            yield SkillToolset(skills, tool_filter=_SKILL_TOOLS)


def _skills_in(folder: Path) -> list[Skill]:
    try:
        if (folder / "SKILL.md").is_file():
            return [load_skill_from_dir(folder)]
        skills = load_skills_from_dir(folder)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the skills in {str(folder)!r} cannot be read: {error}",
            remedy="correct the path, or the SKILL.md",
        ) from error
    if not skills:
        raise ConfigurationError(
            f"there is no SKILL.md in {str(folder)!r}", remedy="name a folder that has skills"
        )
    return skills


def _as_list(callbacks: Any) -> list[Callable[..., Any]]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list) else [callbacks]
