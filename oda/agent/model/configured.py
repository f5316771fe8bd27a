"""The model that an agent names before anything is known of it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from google.adk.models.base_llm import BaseLlm
from google.adk.models.lite_llm import LiteLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from oda.agent.model.in_place import stand_in
from oda.agent.model.registry import DEFAULT, current_models

if TYPE_CHECKING:
    from google.adk.models._capabilities import LlmCapabilities


class ConfiguredModel(LiteLlm):
    """A name from the configuration that is resolved at each call.

    A `LiteLlm`, because ADK keeps the ids of function calls in the prompt for that class, and
    OpenAI-like providers need them to pair calls that our rules have made with their results.
    """

    def __init__(self, name: str) -> None:
        super().__init__(model=name)

    @property
    def target(self) -> BaseLlm:
        """What the name means now."""
        return current_models().resolve(stand_in.get() or self.model)

    @property
    def capabilities(self) -> "LlmCapabilities":
        return self.target.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        target = self.target
        llm_request.model = target.model
        async with aclosing(target.generate_content_async(llm_request, stream)) as responses:
            async for response in responses:
                yield response


def configured_model(name: str = DEFAULT) -> BaseLlm:
    """The model of that name in the configuration, for `LlmAgent(model=…)`.

    `default` is `ODA_MODEL`, or the entry `default` of `config/models.yaml`. The name is resolved
    at each call, so an agent can be loaded before anything is configured.
    """
    return ConfiguredModel(name)
