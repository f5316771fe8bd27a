"""The benchmark's agent with ADK's own model class, as `adk api_server` loads it."""

from scripts.benchmark.adding import adding_agent, lite_llm

root_agent = adding_agent(lite_llm())
