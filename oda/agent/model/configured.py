"""Models that are named by agents and resolved at each call."""

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
    """A model given by a name in the configuration, which is resolved at each call."""

    def __init__(self, name: str) -> None:
        super().__init__(model=name)

    @property
    def target(self) -> BaseLlm:
        """The model that the name currently stands for."""
        return current_models().resolve(stand_in.get() or self.model)

    @property
    def capabilities(self) -> "LlmCapabilities":
        return self.target.capabilities

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        # Before the first answer, ADK converts the whole request for telemetry, even if nobody
        # records it: 22 of the 71 us that an earlier turn costs each call, and 15 us per tool. So
        # the request is emptied until then.
        held = llm_request.contents, llm_request.config
        if not _telemetry_enabled():
            llm_request.contents, llm_request.config = [], GenerateContentConfig()
        return self._stream_answer(llm_request, *held, stream)

    async def _stream_answer(
        self,
        llm_request: LlmRequest,
        contents: list[Content],
        config: GenerateContentConfig,
        stream: bool,
    ) -> AsyncGenerator[LlmResponse, None]:
        llm_request.contents, llm_request.config = contents, config
        try:
            async with aclosing(self._call_target(llm_request, stream)) as responses:
                async for response in responses:
                    yield response
        except DailyLimitError:  # raised before the call, so nothing was yielded yet
            gate = current_gate.get()
            if gate is None or not gate.give_way():
                raise
            async with aclosing(self._call_target(llm_request, stream)) as responses:
                async for response in responses:
                    yield response

    def _call_target(
        self, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        target = self.target
        llm_request.model = target.model
        return target.generate_content_async(llm_request, stream)


def _telemetry_enabled() -> bool:
    """Return whether OpenTelemetry is set up; the default providers of its API record nothing."""
    of_the_api = ("opentelemetry.trace", "opentelemetry._logs")
    providers = (trace.get_tracer_provider(), get_logger_provider())
    return not all(type(one).__module__.startswith(of_the_api) for one in providers)


# ADK keeps the ids of function calls in the prompt only for the classes listed there. OpenAI-like
# APIs need the ids to pair calls that ODA has made with their results.
_contents._ID_PAIRING_MODEL_TYPE_NAMES += ((__name__, ConfiguredModel.__name__),)


def configured_model(name: str = DEFAULT) -> BaseLlm:
    """Return the model of that name in the configuration, for `LlmAgent(model=…)`.

    `default` is `ODA_MODEL`, or the entry `default` of `config/models.yaml`. The name is resolved
    at each call, so agents can be loaded before a model is configured.
    """
    return ConfiguredModel(name)
