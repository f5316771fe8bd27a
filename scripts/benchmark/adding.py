"""The agent that every target serves."""

import os

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.lite_llm import LiteLlm

from scripts.benchmark.workload import MODEL, MODEL_BASE_VARIABLE


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def adding_agent(model: BaseLlm) -> LlmAgent:
    """An agent with one tool."""
    return LlmAgent(
        name="calculator",
        model=model,
        instruction="You add numbers with the tool add.",
        tools=[add],
    )


def lite_llm() -> LiteLlm:
    """The model as a user of plain ADK states it."""
    return LiteLlm(model=MODEL, api_base=os.environ[MODEL_BASE_VARIABLE], api_key="stub")
