"""Models and transcription through OpenAI's API, at OpenAI and at compatible servers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import FormData
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest

from oda.agent.model.chat_completions import Answer, chat_request
from oda.agent.model.http_model import HttpModel, whole_body

OPENAI_BASE = "https://api.openai.com/v1"


class OpenAICompatible(HttpModel):
    """A model behind `POST <api_base>/chat/completions`."""

    api_base: str = OPENAI_BASE

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=True)

    @property
    def url(self) -> str:
        return self._path("chat/completions")

    def _path(self, path: str) -> str:
        return f"{self.api_base.rstrip('/')}/{path}"

    def credentials(self) -> Mapping[str, str]:
        if self.api_key is None:
            return {}
        return {"authorization": f"Bearer {self.api_key.get_secret_value()}"}

    def prepare(self, request: LlmRequest, *, stream: bool) -> tuple[dict[str, Any], Answer]:
        is_openai = urlsplit(self.api_base).hostname == urlsplit(OPENAI_BASE).hostname
        return chat_request(request, self.model, is_openai=is_openai, stream=stream), Answer()

    async def transcribe(self, file_name: str, audio: bytes, mime_type: str) -> str:
        """Return the text of a recording, by `POST <api_base>/audio/transcriptions`.

        Raises:
            ModelCallError: the server rejected the call or reported an error.
            MalformedAnswerError: the response is not a JSON object.
            aiohttp.ClientError: the connection failed.
        """
        form = FormData({"model": self.model})
        form.add_fields(*((name, str(value)) for name, value in self.params.items()))
        form.add_field("file", audio, filename=file_name, content_type=mime_type)
        async with self.sent(self._path("audio/transcriptions"), form, {}) as response:
            return str((await whole_body(response)).get("text") or "")
