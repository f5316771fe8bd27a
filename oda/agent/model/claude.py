"""Claude through Anthropic's messages API.

ADK's own class is not used because it treats filtered and truncated answers as complete, reports
errors in a stream as errors of the agent's code, and yields a partial event for each piece of a
function call.
"""

from collections.abc import Mapping
from typing import Any

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from pydantic import Field, SecretStr

from oda.agent.model.claude_answer import ClaudeAnswer
from oda.agent.model.claude_request import MOST_TOKENS, answer_schema, claude_request
from oda.agent.model.http_model import HttpModel

ANTHROPIC_BASE = "https://api.anthropic.com"

_VERSION = "2023-06-01"


class Claude(HttpModel):
    """A model behind `POST <api_base>/v1/messages`."""

    api_base: str = ANTHROPIC_BASE
    auth_token: SecretStr | None = Field(default=None, exclude=True)
    """Bearer token, which some proxies and accounts require instead of a key."""

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=False)

    @property
    def url(self) -> str:
        base = self.api_base.rstrip("/").removesuffix("/messages").removesuffix("/v1")
        return f"{base}/v1/messages"

    def credentials(self) -> Mapping[str, str]:
        headers = {"anthropic-version": _VERSION}
        if self.api_key is not None:
            headers["x-api-key"] = self.api_key.get_secret_value()
        if self.auth_token is not None:
            headers["authorization"] = f"Bearer {self.auth_token.get_secret_value()}"
        return headers

    def prepare(self, request: LlmRequest, *, stream: bool) -> tuple[dict[str, Any], ClaudeAnswer]:
        most_tokens = self.params.get("max_tokens") or MOST_TOKENS
        body = claude_request(request, self.model, most_tokens=most_tokens, stream=stream)
        return body, ClaudeAnswer(answer_schema(request.config))
