"""One-line descriptions of events that are not text. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.events import Event
from google.genai.types import Content

from oda.agent.notices import RETRY_ATTEMPT, is_notice
from oda.agent.outcome import INPUT
from oda.message.progress import progress_of
from oda.session.answers import CONFIRMATION
from oda.turn.budget import GRANT

_MAX_LENGTH = 160
_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def notes_of(event: Event) -> Iterator[str]:
    """Lines about retries, tool calls and their results."""
    if is_notice(event):
        if event.error_code == RETRY_ATTEMPT:
            yield _retry(event.custom_metadata or {})
        return
    if event.partial:
        return
    for call in event.get_function_calls():
        if call.name not in (CONFIRMATION, INPUT):
            yield excerpt(f"→ {_call(call.name or '', call.args or {})}")
    for response in event.get_function_responses():
        if event.author != "user":
            yield excerpt(f"← {response.name}: {_result(response.response or {})}")


def output_of(event: Event) -> str:
    """Return the output of a running tool."""
    text = (progress_of(event) or {}).get("text")
    return text if isinstance(text, str) else ""


def discards_partial(event: Event) -> bool:
    """Return whether the text shown since the last complete event has been superseded."""
    return is_notice(event) and bool((event.custom_metadata or {}).get("discard_partial"))


def question_of(asked: Mapping[str, Any]) -> str:
    """Return the wording of a question to a person, `{id, name, args}`; never truncated."""
    arguments = asked["args"]
    if asked["name"] == CONFIRMATION:
        call = arguments.get("originalFunctionCall") or {}
        hint = (arguments.get("toolConfirmation") or {}).get("hint")
        action = _call(call.get("name", "tool"), call.get("args") or {})
        return one_line(f"Run {action}?" + (f" {hint}" if hint else ""))
    if asked["name"] == GRANT:
        return one_line(f"The limit of {arguments['limit']} is used up. Allow as much again?")
    return one_line(str(arguments.get("message") or f"{asked['name']}:"))


def message_of(content: Content) -> str:
    """Return a user's message in short form; empty if it has no text."""
    return excerpt("".join(part.text or "" for part in content.parts or ()))


def one_line(text: str) -> str:
    """The text on one line, without control characters."""
    return " ".join(printable(text).split())


def excerpt(text: str) -> str:
    """The text on one line, cut short, without control characters."""
    line = one_line(text)
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def printable(text: str) -> str:
    """Return the text without characters that could control the terminal."""
    return text.translate(_CONTROL)


def _retry(metadata: Mapping[str, Any]) -> str:
    error = metadata.get("error") or {}
    return excerpt(
        f"↻ retry {metadata['attempt']}/{metadata['max_retries']} in {metadata['delay_s']:.1f} s: "
        f"{error.get('code')}: {error.get('message')}"
    )


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in arguments.items())})"


def _result(response: Mapping[str, Any]) -> str:
    if response.keys() == {"result"}:
        return _value(response["result"])
    return _value(response)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
