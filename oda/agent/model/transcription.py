"""Speech to text, by a model that LiteLLM reaches."""

from oda.agent.model.litellm_import import litellm_ready
from oda.agent.model.providers import api_key, litellm_arguments
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
"""By which providers tell the format; everything else is sent as WAV."""


async def transcribe(record: ModelRecord, settings: Settings, audio: bytes, mime_type: str) -> str:
    """What is said in a recording.

    Raises:
        NoContentError: nothing is.
        UnavailableError: what answered is no model.
    """
    await litellm_ready()
    import litellm

    timeout_s = record.timeout_s or settings.model_timeout_s
    kind = mime_type.partition(";")[0].strip().lower()
    answer = await litellm.atranscription(
        model=record.model,
        file=(f"recording.{_ENDINGS.get(kind, 'wav')}", audio, kind),
        **litellm_arguments(record, api_key(record, settings), timeout_s),
    )
    text = str(answer.text or "").strip()
    if text.startswith("<"):  # LiteLLM takes any body that is not JSON for what was said
        raise UnavailableError("The transcribing model's address answered with a web page.")
    if not text:
        raise NoContentError("Nothing could be heard in the recording.")
    return text
