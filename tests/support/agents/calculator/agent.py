"""An agent for tests over HTTP: a model, a tool that works, one that fails, one that hangs."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from oda import configured_model


def add(a: int, b: int, tool_context: ToolContext) -> dict[str, int]:
    """Add two integers, and count the sums."""
    tool_context.state["sums"] = tool_context.state.get("sums", 0) + 1
    return {"sum": a + b}


def divide(a: int, b: int) -> float:
    """Divide two integers."""
    return a / b


async def wait_for_ever() -> None:
    """Never come back."""
    await asyncio.Event().wait()


def pay(amount: int) -> dict[str, int]:
    """Pay an amount, if a person approves."""
    return {"paid": amount}


negotiator = LlmAgent(
    name="negotiator", model=configured_model(), description="Haggles.", instruction="Haggle."
)

root_agent = LlmAgent(
    name="calculator",
    model=configured_model(),
    description="Adds and divides.",
    instruction="Calculate with your tools.",
    tools=[add, divide, wait_for_ever, FunctionTool(pay, require_confirmation=True)],
    sub_agents=[negotiator],
)
