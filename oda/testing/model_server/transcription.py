"""OpenAI transcriptions: recordings as forms with files."""

import base64
import io

from python_multipart import parse_form
from python_multipart.multipart import Field, File

from .conversation import Answer, JsonObject, Message, ModelCall
from .openai import OpenAIWire

FORM = "multipart/form-data"


class TranscriptionWire(OpenAIWire):
    """`POST …/audio/transcriptions`; answers are whole, not streamed.

    What the script matches as the user's text are the bytes of the recording, read as UTF-8.
    """

    def read(self, path: str, body: JsonObject) -> ModelCall:
        return ModelCall(
            model=body["model"],
            stream=False,
            system=body.get("prompt", ""),
            tools=(),
            raw_messages=(body["file"],),
        )

    def message(self, raw: JsonObject) -> Message:
        return Message(role="user", text=base64.b64decode(raw["data"]).decode(errors="replace"))

    def body(self, call: ModelCall, answer: Answer) -> JsonObject:
        return {"text": answer.text}


def form_of(content_type: str, body: bytes) -> JsonObject:
    """The fields of a form by name; a file is `{name, type, data}`, its data in base64.

    Raises:
        ValueError: it is no form.
    """
    found: JsonObject = {}

    def take_field(field: Field) -> None:
        found[_text(field.field_name)] = _text(field.value)

    def take_file(file: File) -> None:
        file.file_object.seek(0)
        found[_text(file.field_name)] = {
            "name": _text(file.file_name),
            "type": file.content_type,
            "data": base64.b64encode(file.file_object.read()).decode(),
        }

    headers = {"Content-Type": content_type.encode()}
    parse_form(headers, io.BytesIO(body), take_field, take_file)
    return found


def _text(value: bytes | None) -> str:
    return (value or b"").decode()
