"""An agent for tests that writes artifacts."""

from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Part

from oda import configured_model


async def note(name: str, text: str, tool_context: ToolContext) -> dict[str, int]:
    """Write a text into an artifact."""
    return {"version": await tool_context.save_artifact(name, Part(text=text))}


root_agent = LlmAgent(
    name="keeper", model=configured_model(), instruction="Keep notes.", tools=[note]
)
