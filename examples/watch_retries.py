"""A failing model, and what a client sees of it: wrap an ADK Runner of your own."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

from oda import OdaAgent, RetryPolicy
from oda.testing import ScriptedModel
from oda.testing.script import Error, Text


async def main() -> None:
    model = ScriptedModel(steps=[Error(status=429), Error(status=503), Text(text="Hello!")])
    runner = InMemoryRunner(agent=LlmAgent(name="greeter", model=model), app_name="demo")
    await runner.session_service.create_session(app_name="demo", user_id="ann", session_id="1")

    agent = OdaAgent(runner, "demo", "ann", "1", policy=RetryPolicy(initial_delay_s=0.1))
    async for event in agent.run_async("Hi"):
        for part in (event.content and event.content.parts) or []:
            print(event.author, event.error_code or "", part.text)


if __name__ == "__main__":
    asyncio.run(main())
