"""Speech to text through OpenAI's API or LiteLLM."""

import asyncio
from typing import Any

from oda.agent.model.litellm_import import litellm_ready
from oda.agent.model.openai_compatible import OpenAICompatible
from oda.agent.model.providers import api_key, build_model, litellm_arguments, litellm_name, way_to
from oda.config.records import ModelRecord
from oda.errors import NoContentError, UnavailableError
from oda.settings import Settings

_ENDINGS = {
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/webm": "webm",
}
"""File extensions by media type, from which providers infer the format; the default is WAV."""


async def transcribe(record: ModelRecord, settings: Settings, audio: bytes, mime_type: str) -> str:
    """Return the text of a recording.

    Raises:
        NoContentError: the recording contains no speech.
        UnavailableError: the server did not answer like a model.
    """
    kind = mime_type.partition(";")[0].strip().lower()
    file = f"recording.{_ENDINGS.get(kind, 'wav')}", audio, kind
    timeout_s = record.timeout_s or settings.model_timeout_s
    model = build_model(record, settings) if way_to(record) == "openai" else None
    if isinstance(model, OpenAICompatible):
        async with asyncio.timeout(timeout_s):
            text = await model.transcribe(*file)
    else:
        text = await _transcribe_by_litellm(record, file, api_key(record, settings), timeout_s)
    if not text.strip():
        raise NoContentError("Nothing could be heard in the recording.")
    return text.strip()


async def _transcribe_by_litellm(
    record: ModelRecord, file: Any, key: str | None, timeout_s: float
) -> str:
    await litellm_ready()
    import litellm

    arguments = litellm_arguments(record, key, timeout_s)
    answer = await litellm.atranscription(model=litellm_name(record), file=file, **arguments)
    text = str(answer.text or "")
    if text.lstrip().startswith("<"):  # LiteLLM returns any body that is not JSON as the text
        raise UnavailableError("The transcribing model's address answered with a web page.")
    return text
