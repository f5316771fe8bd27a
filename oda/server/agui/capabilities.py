"""What an app can do, as AG-UI describes it."""

from ag_ui.core.capabilities import (
    AgentCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    MultiAgentCapabilities,
    MultimodalCapabilities,
    MultimodalInputCapabilities,
    ReasoningCapabilities,
    StateCapabilities,
    SubagentInfo,
    ToolsCapabilities,
    TransportCapabilities,
)
from ag_ui.core.types import Tool

from oda.agent.definition import Definition


def capabilities_of(definition: Definition) -> AgentCapabilities:
    """Return the capabilities of an app."""
    root = definition.app.root_agent
    agents = [
        SubagentInfo(name=agent.name, description=agent.description or None)
        for agent in getattr(root, "sub_agents", ())
    ]
    tools = [Tool(name=name, description="") for name in definition.tools]
    description = str(getattr(root, "description", "") or "")
    return AgentCapabilities(
        identity=IdentityCapabilities(
            name=definition.app.name, type="oda", description=description or None
        ),
        transport=TransportCapabilities(streaming=True, resumable=True),
        tools=ToolsCapabilities(supported=True, items=tools, client_provided=True),
        state=StateCapabilities(snapshots=True, deltas=True, persistent_state=True),
        multi_agent=MultiAgentCapabilities(supported=bool(agents), subagents=agents),
        reasoning=ReasoningCapabilities(supported=True, streaming=True),
        multimodal=MultimodalCapabilities(
            input=MultimodalInputCapabilities(image=True, audio=True, video=True, file=True)
        ),
        human_in_the_loop=HumanInTheLoopCapabilities(
            supported=True, approvals=True, interrupts=True
        ),
    )
