"""The part of a conversation that the model is sent. Pure functions over ADK contents."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from google.genai.types import Content, Part

SUMMARY_MARK = "[Summary of what was said earlier]"
"""The first line of every running summary."""

_WIDE = re.compile(r"[^\x00-\u02ff]")
_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Window:
    """Most messages and most tokens, whichever is less; `summary_chars` bound what leads them."""

    messages: int
    tokens: int
    summary_chars: int


def fitted(contents: Sequence[Content], window: Window) -> list[Content]:
    """Return the part of a conversation that fits: a summary of the rest, then whole turns.

    The current turn, which begins with the person's last message, and the summary are always kept.
    Turns are never divided, so calls stay with their results. Messages that have left the window
    since the summary was made are added in short form.
    """
    summary, turns = _summary_and_turns(contents)
    kept = _latest(turns, window, tokens_of(summary))
    fallen = [content for turn in turns[: len(turns) - len(kept)] for content in turn]
    lead = digest(fallen, summary=summary, longest=window.summary_chars)
    head = [Content(role="user", parts=[Part(text=lead)])] if lead else []
    return head + [content for turn in kept for content in turn]


def current_turn(contents: Sequence[Content]) -> int:
    """Return where the current turn begins: at the last words of the person."""
    for index in reversed(range(len(contents))):
        if _is_said_by_person(contents[index]):
            return index
    return max(0, len(contents) - 1)


def digest(contents: Iterable[Content], *, summary: str, longest: int) -> str:
    """Return a summary made without a model: the earlier one, then the messages in short form.

    The result has at most `longest` characters plus the mark; the oldest text is dropped first. It
    is "" if there are no messages.
    """
    lines = [line for content in contents for line in _lines(content)]
    earlier = summary.removeprefix(SUMMARY_MARK).strip().splitlines()
    told: list[str] = []
    room = longest
    for line in reversed([*earlier, *lines]):
        room -= len(line) + 1
        if room < 0:
            break
        told.append(line)
    return "\n".join([SUMMARY_MARK, *reversed(told)]) if told else ""


def summary_of(content: Content) -> str | None:
    """Return the text of a running summary, or None if the content is not a summary."""
    text = _text(content)
    return text if content.role == "model" and text.startswith(SUMMARY_MARK) else None


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text: one for each CJK character, one for four others."""
    wide = len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // _CHARACTERS_PER_TOKEN)


def _summary_and_turns(contents: Sequence[Content]) -> tuple[str, list[list[Content]]]:
    """Take the summary off the conversation and cut the rest where the person speaks."""
    summary = ""
    turns: list[list[Content]] = []
    for content in contents:
        if (found := summary_of(content)) is not None:
            summary = found
        elif _is_said_by_person(content) or not turns:
            turns.append([content])
        else:
            turns[-1].append(content)
    return summary, turns


def _latest(turns: Sequence[list[Content]], window: Window, tokens: int) -> list[list[Content]]:
    kept: list[list[Content]] = []
    messages = 0
    for turn in reversed(turns):
        messages += len(turn)
        tokens += sum(_tokens(content) for content in turn)
        if kept and (messages > window.messages or tokens > window.tokens):
            break
        kept.append(turn)
    return kept[::-1]


def _is_said_by_person(content: Content) -> bool:
    parts = content.parts or []
    return content.role == "user" and not any(part.function_response for part in parts)


def _tokens(content: Content) -> int:
    return _TOKENS_PER_MESSAGE + sum(_part_tokens(part) for part in content.parts or [])


def _part_tokens(part: Part) -> int:
    call, response = part.function_call, part.function_response
    told = (call and call.args) or (response and response.response)
    return tokens_of(part.text or "") + (tokens_of(json.dumps(told, default=str)) if told else 0)


def _lines(content: Content) -> list[str]:
    """Return a message as one short line; calls are left out, since the reply describes them."""
    text = " ".join(_text(content).split())
    if not text:
        return []
    short = text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"
    return [f"- {'you' if content.role == 'model' else 'the person'}: {short}"]


def _text(content: Content) -> str:
    parts = content.parts or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
