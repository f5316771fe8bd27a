"""The messages of a conversation, as AG-UI clients have them after the events of its runs."""

import base64
from collections.abc import Iterable, Mapping

from ag_ui.core.events import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core.types import (
    AssistantMessage,
    AudioPart,
    ContentPart,
    DataSource,
    DocumentPart,
    FunctionCall,
    ImagePart,
    Message,
    ReasoningMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
    VideoPart,
)
from google.genai.types import Content, Part


class Transcript:
    """The messages of one turn, without those of the user."""

    def __init__(self) -> None:
        self._messages: dict[str, AssistantMessage | ToolMessage | ReasoningMessage] = {}
        self._calls: dict[str, ToolCall] = {}

    def add(self, event: BaseEvent) -> None:
        """Do what a client does with an event."""
        match event:
            case TextMessageStartEvent():
                self._assistant(event.message_id).content = ""
            case TextMessageContentEvent():
                message = self._assistant(event.message_id)
                message.content = f"{message.content or ''}{event.delta}"
            case ReasoningMessageStartEvent():
                self._messages[event.message_id] = ReasoningMessage(id=event.message_id, content="")
            case ReasoningMessageContentEvent():
                thought = self._messages[event.message_id]
                thought.content = f"{thought.content}{event.delta}"
            case ToolCallStartEvent():
                self._call(event)
            case ToolCallArgsEvent():
                self._calls[event.tool_call_id].function.arguments += event.delta
            case ToolCallResultEvent():
                self._messages[event.message_id] = ToolMessage(
                    id=event.message_id, tool_call_id=event.tool_call_id, content=event.content
                )

    def replace(self, message_id: str, text: str) -> None:
        """Set the text of a message that was streamed differently."""
        if (message := self._messages.get(message_id)) is not None:
            message.content = text

    def discard(self, message_id: str) -> None:
        self._messages.pop(message_id, None)

    def messages(self, results: Mapping[str, ToolMessage]) -> list[Message]:
        """Return the messages, with what tools of the client have returned, by call."""
        told: list[Message] = []
        for message in self._messages.values():
            told.append(message.model_copy(deep=True))
            calls = message.tool_calls or () if isinstance(message, AssistantMessage) else ()
            told.extend(results[call.id] for call in calls if call.id in results)
        return told

    def _assistant(self, message_id: str) -> AssistantMessage:
        message = self._messages.get(message_id)
        if not isinstance(message, AssistantMessage):
            message = self._messages[message_id] = AssistantMessage(id=message_id)
        return message

    def _call(self, event: ToolCallStartEvent) -> None:
        message = self._assistant(event.parent_message_id or event.tool_call_id)
        function = FunctionCall(name=event.tool_call_name, arguments="")
        call = self._calls[event.tool_call_id] = ToolCall(id=event.tool_call_id, function=function)
        message.tool_calls = [*(message.tool_calls or ()), call]


def user_message(message_id: str, content: Content | None) -> UserMessage | None:
    """Return a user's message; None if it has nothing that AG-UI can show."""
    parts = [*_parts((content and content.parts) or ())]
    if not parts:
        return None
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    said: str | list[ContentPart] = "".join(texts) if len(texts) == len(parts) else parts
    return UserMessage(id=message_id, content=said)


def _parts(parts: Iterable[Part]) -> Iterable[ContentPart]:
    for part in parts:
        if part.text:
            yield TextPart(text=part.text)
        elif (blob := part.inline_data) and blob.data and blob.mime_type:
            data = base64.b64encode(blob.data).decode()
            yield _media(blob.mime_type, DataSource(value=data, mime_type=blob.mime_type))
        elif (file := part.file_data) and file.file_uri:
            source = UrlSource(value=file.file_uri, mime_type=file.mime_type)
            yield _media(file.mime_type or "", source)


def _media(mime_type: str, source: DataSource | UrlSource) -> ContentPart:
    match mime_type.partition("/")[0]:
        case "image":
            return ImagePart(source=source)
        case "audio":
            return AudioPart(source=source)
        case "video":
            return VideoPart(source=source)
    return DocumentPart(source=source)
