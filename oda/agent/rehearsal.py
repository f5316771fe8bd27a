"""A warm-up turn in memory, so that no user's turn pays for lazy imports."""

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.runners import InMemoryRunner

from oda.agent.model.unconfigured import Unconfigured
from oda.agent.oda_agent import OdaAgent

_NAME = "rehearsal"


async def rehearse(*, with_litellm: bool) -> None:
    """Run a turn in memory, optionally through LiteLLM's mocked response."""
    agent = LlmAgent(name=_NAME, model=_model(with_litellm), tools=[_nothing])
    runner = InMemoryRunner(agent=agent, app_name=_NAME)
    await runner.session_service.create_session(app_name=_NAME, user_id=_NAME, session_id=_NAME)
    turn = OdaAgent(runner, _NAME, _NAME, _NAME, max_retries=0).run_async(
        _NAME, run_config=RunConfig(streaming_mode=StreamingMode.SSE)
    )
    async for _ in turn:
        pass


def _nothing(value: int) -> int:
    """Do nothing."""
    return value


def _model(with_litellm: bool) -> BaseLlm:
    if not with_litellm:
        return Unconfigured()
    from google.adk.models.lite_llm import LiteLlm, LiteLLMClient

    return LiteLlm(
        model="openai/rehearsal",
        mock_response="ok",
        # Not our `CheckedClient`: a mocked stream has no provider's finish reason.
        llm_client=LiteLLMClient(),
        stream_options={"include_usage": True},
        num_retries=0,
    )
