"""Placeholder for a model that is not configured."""

from collections.abc import AsyncGenerator, Mapping

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentResponseUsageMetadata, Part

from oda.message.language import Language, language_of

_NOTHING_USED = GenerateContentResponseUsageMetadata(
    prompt_token_count=0, candidates_token_count=0, total_token_count=0
)

NOT_CONFIGURED = {"oda_model": "not_configured"}
"""`custom_metadata` of the placeholder's answers."""


class Unconfigured(BaseLlm):
    """Answers that no model is configured, in the user's language."""

    model: str = "none"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        text = _TEXTS[language_of(_last_user_text(llm_request))]
        yield LlmResponse(
            content=Content(role="model", parts=[Part(text=text)]),
            custom_metadata=NOT_CONFIGURED,
            usage_metadata=_NOTHING_USED,
        )


_TEXTS: Mapping[Language, str] = {
    "en": (
        "No model is configured, so I can only do what works by rules. To get answers from a "
        "model, set ODA_MODEL (for example openai/gpt-4o or gemini-2.5-flash) and the provider's "
        "key, then start again. Your message is kept."
    ),
    "zh": (
        "还没有配置模型，目前只能处理规则能完成的请求。要让模型来回答，请设置 ODA_MODEL"
        "（例如 openai/gpt-4o 或 gemini-2.5-flash）和服务商的密钥，然后重新启动。您的消息已保留。"
    ),
}


def _last_user_text(request: LlmRequest) -> str:
    """Return the user's latest text."""
    texts = [
        part.text
        for content in request.contents
        if content.role == "user"
        for part in content.parts or ()
        if part.text
    ]
    return texts[-1] if texts else ""
