"""What a response was asked, as items of its input."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from google.adk.events import Event
from google.genai.types import Content, Part

from oda.context import OdaContext
from oda.server.openai.ids import QuestionId, ResponseId
from oda.server.openai.items import ASKS_A_PERSON, as_json
from oda.turn.budget import GRANT
from oda.turn.record import Turn


async def input_items(oda: OdaContext, response_id: ResponseId, turn: Turn) -> list[dict[str, Any]]:
    """Return the items of a response's input, oldest first."""
    rests = [
        entry.number
        for entry in await oda.turns.entries(turn.turn_id)
        if isinstance(entry.data, Turn) and entry.data.status == "waiting_input"
    ]
    place = sum(number <= response_id.after for number in rests)
    session = await oda.sessions.get(turn.app, turn.user_id, turn.session_id)
    said = _messages(await session.messages_of_turn(turn.turn_id))
    if place < len(said):
        message = said[place]
    elif place == 0 or place == len(said):
        message = (await oda.turns.given(turn.turn_id, turn.user_id)).message
    else:
        return []
    return list(_items(response_id, message))


def _messages(events: Sequence[Event]) -> list[Content]:
    return [event.content for event in events if event.content and event.content.parts]


def _items(response_id: ResponseId, message: Content) -> Iterator[dict[str, Any]]:
    contents = []
    for number, part in enumerate(message.parts or ()):
        if (answer := part.function_response) is not None:
            asked = QuestionId(response_id.turn_id, answer.id or "")
            told = answer.response or {}
            name = answer.name or ""
            item_id = f"in_{response_id.base}_{number}"
            if name.startswith(ASKS_A_PERSON) or name == GRANT:
                yield {
                    "id": item_id,
                    "type": "mcp_approval_response",
                    "approval_request_id": asked.of_approval,
                    "approve": bool(told.get("confirmed", True)),
                    "reason": _reason(told),
                }
            else:
                yield {
                    "id": item_id,
                    "type": "function_call_output",
                    "call_id": asked.of_call,
                    "output": told["result"] if _is_plain(told) else as_json(told),
                    "status": "completed",
                }
        elif (content := _content(part)) is not None:
            contents.append(content)
    if contents:
        yield {
            "id": f"msg_{response_id.base}_in",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": contents,
        }


def _reason(told: dict[str, Any]) -> str | None:
    said = told.get("payload", told.get("result"))
    return said if isinstance(said, str) else None


def _is_plain(told: dict[str, Any]) -> bool:
    return set(told) == {"result"} and isinstance(told["result"], str)


def _content(part: Part) -> dict[str, Any] | None:
    if part.text is not None:
        return {"type": "input_text", "text": part.text}
    if (blob := part.inline_data) is not None and blob.data is not None:
        kind = blob.mime_type or "application/octet-stream"
        data = f"data:{kind};base64,{base64.b64encode(blob.data).decode()}"
        if kind.startswith("image/"):
            return {"type": "input_image", "detail": "auto", "image_url": data}
        return {"type": "input_file", "filename": blob.display_name, "file_data": data}
    if (file := part.file_data) is not None:
        return {"type": "input_file", "file_url": file.file_uri}
    return None
