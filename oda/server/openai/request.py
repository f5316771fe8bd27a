"""Bodies of `POST /v1/responses`, and what they ask for."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from google.genai.types import Blob, Content, FileData, Part
from pydantic import BaseModel, ConfigDict, Field

from oda.message.content import user_content
from oda.server.openai.ids import QuestionId
from oda.server.problems import Refusal

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,(.*)", re.DOTALL)
_FROM_US = frozenset(
    {
        *("function_call", "mcp_call", "mcp_list_tools", "mcp_approval_request"),
        *("reasoning", "item_reference"),
    }
)
"""Items that a client repeats from our answers; the session has what they tell."""
_Text = Annotated[str, Field(max_length=512)]


class Conversation(BaseModel):
    id: Annotated[str, Field(min_length=1, max_length=128)]


class CreateResponse(BaseModel):
    """What we read of the body; the rest is checked by `refuse_what_we_cannot`."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(min_length=1, max_length=257)]
    input: str | list[dict[str, Any]]
    instructions: str | None = None
    previous_response_id: Annotated[str, Field(max_length=128)] | None = None
    conversation: Annotated[str, Field(min_length=1, max_length=128)] | Conversation | None = None
    stream: bool | None = None
    background: bool | None = None
    store: bool | None = None
    metadata: Annotated[dict[str, _Text], Field(max_length=16)] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    text: dict[str, Any] | None = None
    top_logprobs: int | None = None
    prompt: dict[str, Any] | None = None

    @property
    def session_id(self) -> str | None:
        """The id of the conversation, if one is named."""
        named = self.conversation
        return named.id if isinstance(named, Conversation) else named


@dataclass(frozen=True)
class Answered:
    """A client's answer to a question of a turn."""

    to: QuestionId
    approved: bool | None
    payload: Any


@dataclass
class Input:
    """What a request says: answers to questions, or a message."""

    parts: list[Part] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)

    @property
    def message(self) -> Content:
        """The user's message.

        Raises:
            InvalidRequestError: it is empty.
        """
        return user_content(Content(role="user", parts=self.parts))

    @property
    def text(self) -> str:
        """The message's text."""
        return "".join(part.text or "" for part in self.parts)


def refused(message: str, field: str, *, status: int = 422, code: str | None = None) -> Refusal:
    """The refusal of a request because of one of its fields."""
    return Refusal(
        status, f"{field}: {message}", code=code, errors=[{"field": field, "message": message}]
    )


def refuse_what_we_cannot(body: CreateResponse) -> None:
    """Refuse what would be silently left out.

    Raises:
        Refusal: the body asks for something that apps do not do.
    """
    if body.previous_response_id and body.conversation:
        raise refused("cannot be used with previous_response_id", "conversation")
    if body.top_logprobs:
        raise refused("log probabilities are not told", "top_logprobs")
    if body.prompt:
        raise refused("stored prompts are not served here", "prompt")
    form = (body.text or {}).get("format")
    if isinstance(form, Mapping) and form.get("type", "text") != "text":
        raise refused("the form of an answer is the app's", "text.format")
    if body.store is False:
        raise refused("what is asked is kept with its conversation; delete the response", "store")
    if body.tools:
        raise refused("apps have tools of their own; a client's are not offered", "tools")
    if body.instructions:
        raise refused("the instructions are the app's", "instructions")


def read_input(given: str | Sequence[dict[str, Any]]) -> Input:
    """Read the input: what comes after the last item that repeats an answer of ours.

    The history is the server's, so items before that are known.

    Raises:
        Refusal: an item is malformed, or of a kind that is not taken.
    """
    if isinstance(given, str):
        return Input([Part(text=given)])
    said = Input()
    for number, item in enumerate(given):
        where = f"input.{number}"
        match item.get("type", "message"):
            case "message":
                _read_message(item, where, said)
            case "function_call_output":
                to = QuestionId.parse(str(item.get("call_id")))
                said.answers.append(Answered(to, None, _output(item.get("output"), where)))
            case "mcp_approval_response":
                said.answers.append(_approval(item, where))
            case kind if kind in _FROM_US:
                said.parts.clear()
                said.answers.clear()
            case kind:
                raise refused(f"items of type {str(kind)[:64]!r} are not taken", f"{where}.type")
    return said


def _read_message(item: Mapping[str, Any], where: str, said: Input) -> None:
    role = item.get("role")
    if role == "assistant":
        said.parts.clear()
        said.answers.clear()
    elif role in ("user", "system", "developer"):
        said.parts += _parts(item.get("content"), where)
    else:
        raise refused("must be user, assistant, system or developer", f"{where}.role")


def _approval(item: Mapping[str, Any], where: str) -> Answered:
    if not isinstance(item.get("approve"), bool):
        raise refused("must be true or false", f"{where}.approve")
    to = QuestionId.parse(str(item.get("approval_request_id")))
    return Answered(to, item["approve"], item.get("reason"))


def _output(output: Any, where: str) -> Any:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "".join(part.text or "" for part in _parts(output, where))
    raise refused("must be a text or a list of contents", f"{where}.output")


def _parts(content: Any, where: str) -> Iterator[Part]:
    if isinstance(content, str):
        yield Part(text=content)
        return
    if not isinstance(content, list):
        raise refused("must be a text or a list of contents", f"{where}.content")
    for number, item in enumerate(content):
        at = f"{where}.content.{number}"
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind in ("input_text", "text", "output_text") and isinstance(item.get("text"), str):
            yield Part(text=item["text"])
        elif kind in ("input_image", "image_url"):
            url = item.get("image_url")
            yield _file(url.get("url") if isinstance(url, Mapping) else url, None, at)
        elif kind in ("input_file", "file"):
            file = item.get("file", item)
            yield _file(file.get("file_data") or file.get("file_url"), file.get("filename"), at)
        else:
            raise refused("contents are texts, images and files", f"{at}.type")


def _file(url: Any, name: Any, where: str) -> Part:
    """Read a file: bytes as a data URL, or the address of it."""
    if not isinstance(url, str) or not url:
        raise refused("send the file as a data URL or by its address", where)
    if url.startswith(("https://", "http://")):
        return Part(file_data=FileData(file_uri=url))
    found = _DATA_URL.fullmatch(url)
    if found is None:
        raise refused("send the file as a data URL or by its address", where)
    try:
        data = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        raise refused("is not base64", where) from None
    called = name if isinstance(name, str) else None
    return Part(inline_data=Blob(mime_type=found[1], data=data, display_name=called))
