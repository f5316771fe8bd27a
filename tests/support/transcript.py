"""ADK events and model requests as lines of text, so that a test can state them whole."""

from collections.abc import Iterable

from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.genai.types import Content, Part

_ADK_PREFACE = "For context: below is a transcript"
"""What ADK puts before each line of another agent."""


def transcript(events: Iterable[Event]) -> list[str]:
    """One line per event; ADK's checkpoints, which say nothing, are left out.

    `worker: text`, `worker: look(at='a')`, `worker: look -> {...}`, `worker~ partial text`,
    `system! RETRY_ATTEMPT`, `worker! SAFETY: text`.
    """
    return [line for event in events if (line := _line(event))]


def seen_by_model(request: LlmRequest) -> list[str]:
    """One line per content of a request, after its role."""
    return [f"{content.role}: {_words(content)}" for content in request.contents]


def unpaired_calls(request: LlmRequest) -> list[str]:
    """Names of the calls in a request that have no response right after them, and the reverse."""
    open_calls: list[str] = []
    wrong: list[str] = []
    for content in request.contents:
        parts = content.parts or []
        responses = [p.function_response.name or "" for p in parts if p.function_response]
        if not responses:
            wrong += open_calls
            open_calls = []
        for name in responses:
            if name in open_calls:
                open_calls.remove(name)
            else:
                wrong.append(name)
        open_calls += [p.function_call.name or "" for p in parts if p.function_call]
    return wrong + open_calls


def _line(event: Event) -> str:
    words = _words(event.content)
    if event.error_code:
        return f"{event.author}! {event.error_code}" + (f": {words}" if words else "")
    if not words:
        return ""
    return f"{event.author}~ {words}" if event.partial else f"{event.author}: {words}"


def _words(content: Content | None) -> str:
    parts = content.parts if content else None
    return " + ".join(word for part in parts or () if (word := _word(part)))


def _word(part: Part) -> str:
    if part.function_call:
        arguments = (part.function_call.args or {}).items()
        stated = ", ".join(f"{name}={value!r}" for name, value in arguments)
        return f"{part.function_call.name}({stated})"
    if part.function_response:
        return f"{part.function_response.name} -> {part.function_response.response}"
    if part.thought or not part.text or part.text.startswith(_ADK_PREFACE):
        return ""
    return part.text
