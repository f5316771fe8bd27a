"""A general assistant: a model with tools of its own, tools over MCP, and one sub-agent."""

from google.adk.agents import LlmAgent
from google.adk.apps import App

from oda import configured_model, mcp_toolset

from .tools import calculate, current_time, read_notes, take_note

writer = LlmAgent(
    name="writer",
    model=configured_model(),
    description="Writes, shortens, translates and polishes longer texts.",
    instruction=(
        "You write for the user: letters, summaries, translations, better wordings. Keep to the "
        "facts in the conversation and invent none. Answer in the language of the user. When the "
        "user turns to something else, transfer back to the assistant."
    ),
)

root_agent = LlmAgent(
    name="assistant",
    model=configured_model(),
    description="A general assistant that calculates, keeps notes and looks things up.",
    instruction=(
        "You are a helpful, brief assistant. Answer in the language of the user. Calculate with "
        "the tool, not in your head. Look questions about this project up with search_documents "
        "and read_document before you answer them, and name the document. When a tool reports an "
        "error, say what it means for the user. Transfer longer writing to the writer."
    ),
    tools=[current_time, calculate, take_note, read_notes, mcp_toolset("search")],
    sub_agents=[writer],
)

app = App(name="assistant", root_agent=root_agent)
