"""The model that an agent names before anything is known of it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from google.adk.flows.llm_flows.context import _contents
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentConfig
from opentelemetry import trace
from opentelemetry._logs import get_logger_provider

from oda.agent.model.gate import current_gate, stand_in
from oda.agent.model.registry import DEFAULT, current_models
from oda.errors import DailyLimitError

if TYPE_CHECKING:
    from google.adk.models._capabilities import LlmCapabilities


class ConfiguredModel(BaseLlm):
    """A name from the configuration that is resolved at each call."""

    def __init__(self, name: str) -> None:
        super().__init__(model=name)

    @property
    def target(self) -> BaseLlm:
        """What the name means now."""
        return current_models().resolve(stand_in.get() or self.model)

    @property
    def capabilities(self) -> "LlmCapabilities":
        return self.target.capabilities

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        # Between this call and the first answer, ADK turns the whole request into its telemetry's
        # form, also where nobody records it: 22 of the 71 us that an earlier turn costs each call,
        # and 15 us a tool. So what is in it is put aside for that long.
        held = llm_request.contents, llm_request.config
        if not _is_recorded():
            llm_request.contents, llm_request.config = [], GenerateContentConfig()
        return self._answers(llm_request, *held, stream)

    async def _answers(
        self,
        llm_request: LlmRequest,
        contents: list[Content],
        config: GenerateContentConfig,
        stream: bool,
    ) -> AsyncGenerator[LlmResponse, None]:
        llm_request.contents, llm_request.config = contents, config
        try:
            async with aclosing(self._responses(llm_request, stream)) as responses:
                async for response in responses:
                    yield response
        except DailyLimitError:  # raised before the call, so nothing has been said yet
            gate = current_gate.get()
            if gate is None or not gate.give_way():
                raise
            async with aclosing(self._responses(llm_request, stream)) as responses:
                async for response in responses:
                    yield response

    def _responses(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        target = self.target
        llm_request.model = target.model
        return target.generate_content_async(llm_request, stream)


def _is_recorded() -> bool:
    """Whether OpenTelemetry has been set up; the providers of its API alone record nothing."""
    of_the_api = ("opentelemetry.trace", "opentelemetry._logs")
    providers = (trace.get_tracer_provider(), get_logger_provider())
    return not all(type(one).__module__.startswith(of_the_api) for one in providers)


# ADK keeps the ids of function calls in the prompt for the classes that it names there. OpenAI-like
# providers need them, to pair calls that our rules have made with their results.
_contents._ID_PAIRING_MODEL_TYPE_NAMES += ((__name__, ConfiguredModel.__name__),)


def configured_model(name: str = DEFAULT) -> BaseLlm:
    """The model of that name in the configuration, for `LlmAgent(model=…)`.

    `default` is `ODA_MODEL`, or the entry `default` of `config/models.yaml`. The name is resolved
    at each call, so an agent can be loaded before anything is configured.
    """
    return ConfiguredModel(name)
