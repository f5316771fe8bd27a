"""Decoding of clients' messages: new ones, and answers to questions. Pure functions."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from a2a import types as a2a
from pydantic import ValidationError

from oda.agent.outcome import INPUT, OpenQuestion
from oda.errors import InvalidRequestError
from oda.server.a2a.encoder import MESSAGE_ID
from oda.server.a2a.parts import ADK_TYPE, FUNCTION_RESPONSE, data_of, metadata_of, written_parts
from oda.server.v1.wire import AnswerInput, SubmitTurn
from oda.session.answers import CONFIRMATION, Answer
from oda.turn.budget import GRANT

_LONGEST_ID = 255
_YES = frozenset({"yes", "y", "ok", "okay", "true", "是", "是的", "好", "好的", "可以", "确认"})
_ENDS = re.compile(r"^\W+|\W+$")
_NO = frozenset({"no", "n", "false", "否", "不", "不是", "不行", "不可以", "取消"})


def submitted(request: a2a.SendMessageRequest) -> SubmitTurn:
    """Return a message as the body of a turn.

    Raises:
        InvalidRequestError: the message has no content, or its id cannot be a key.
    """
    message = request.message
    check_key(message.message_id)
    parts = [*written_parts(message.parts)]
    if not any(part.get("text", "-").strip() for part in parts):
        raise InvalidRequestError("The message is empty.", remedy="send a text or a file")
    metadata = {**metadata_of(request), **metadata_of(message), MESSAGE_ID: message.message_id}
    # Whoever follows the task later may want its texts as they come.
    return SubmitTurn(message={"parts": parts}, metadata=metadata, stream_tokens=True)


def check_key(message_id: str) -> None:
    """Check that the id of a message can be an idempotency key.

    Raises:
        InvalidRequestError: it is too long, or not printable.
    """
    if len(message_id) > _LONGEST_ID or not message_id.isprintable():
        raise InvalidRequestError(f"messageId: must be at most {_LONGEST_ID} printable characters")


def context_of(message: a2a.Message) -> str:
    """Return the context of a message that names none.

    It follows from the message's id, so a message that is sent again is in the same context.
    """
    return hashlib.sha256(f"a2a\n{message.message_id}".encode()).hexdigest()[:32]


def answers_in(message: a2a.Message, pending: Sequence[OpenQuestion]) -> list[Answer]:
    """Return the answers that a message gives to open questions.

    They are in data parts, `{"responses": [{"id", "confirmed"?, "payload"?}]}` or as ADK's agents
    send them; or the message's text answers the only open question.

    Raises:
        InvalidRequestError: it answers nothing.
    """
    names = {question["id"]: question["name"] for question in pending}
    if answers := [one for part in message.parts for one in _answers_of(part, names)]:
        return answers
    text = " ".join(part.text.strip() for part in message.parts if part.text.strip())
    if len(pending) != 1 or not text:
        raise InvalidRequestError(
            "The message answers none of the task's questions.",
            remedy='send a data part {"responses": [{"id", "confirmed"?, "payload"?}]}',
        )
    asked = pending[0]
    if asked["name"] not in (CONFIRMATION, GRANT):
        return [(asked["id"], None, text)]
    return [(asked["id"], _agrees(text), None)]


def _agrees(text: str) -> bool:
    word = _ENDS.sub("", text.casefold())
    if word not in _YES | _NO:
        raise InvalidRequestError(
            "The task waits for a confirmation.",
            remedy='say yes or no, or send a data part {"responses": [{"id", "confirmed"}]}',
        )
    return word in _YES


def _answers_of(part: a2a.Part, names: Mapping[str, str]) -> Iterator[Answer]:
    if part.WhichOneof("content") != "data" or not isinstance(data := data_of(part), dict):
        return
    if "responses" in data:
        try:
            given = AnswerInput.model_validate({"responses": data["responses"]})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"])
            raise InvalidRequestError(f"{where}: {first['msg']}") from error
        yield from ((one.id, one.confirmed, one.payload) for one in given.responses)
    elif metadata_of(part).get(ADK_TYPE) == FUNCTION_RESPONSE:
        yield _answer_of_adk(data, names)


def _answer_of_adk(data: Mapping[str, Any], names: Mapping[str, str]) -> Answer:
    answer_id, response = str(data.get("id", "")), data.get("response")
    told: Mapping[str, Any] = response if isinstance(response, dict) else {"result": response}
    name = names.get(answer_id)
    if name in (CONFIRMATION, GRANT):
        return answer_id, told.get("confirmed") is True, told.get("payload")
    return answer_id, None, told.get("result", told) if name == INPUT else told
