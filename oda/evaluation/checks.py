"""What came of a message compared with what must. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from oda.evaluation.cases import Expectation, Phrase
from oda.message.language import language_of

_STEP = re.compile(r"[^.\[\]]+")
_LONGEST_SHOWN = 200


@dataclass(frozen=True)
class Seen:
    """What came of a message."""

    reply: str
    calls: Sequence[str] = ()
    """Names of the tools that were called."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """The session's state before the message."""
    after: Mapping[str, Any] = field(default_factory=dict)
    model_calls: int = 0
    failure: str | None = None
    """Why there is no reply."""


def problems(expected: Expectation, seen: Seen) -> Iterator[str]:
    """Yield each way in which what was seen is not what was expected, without the judge's."""
    if seen.failure is not None:
        yield f"the turn failed: {seen.failure}"
        return
    yield from _of_reply(expected, seen.reply)
    if expected.calls is not None:
        if not expected.calls and seen.calls:
            yield f"tools were called: {', '.join(seen.calls)}"
        for name in dict.fromkeys(expected.calls):
            if name not in seen.calls:
                yield f"{name} was not called"
    for path, wanted in expected.state.items():
        found = value_at(seen.after, path)
        if not _fits(wanted, found):
            yield f"{path} is {_shown(found)}, not {_shown(wanted)}"
    for path in expected.unchanged:
        before, after = value_at(seen.before, path), value_at(seen.after, path)
        if before != after:
            yield f"{path} was {_shown(before)} and is {_shown(after)}"
    if expected.model_calls is not None and seen.model_calls > expected.model_calls:
        yield f"the model answered {seen.model_calls} times, not {expected.model_calls}"


def value_at(state: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as `resume.work[0].name`; None if nothing is there."""
    value: Any = state
    for step in _STEP.findall(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, Sequence) and not isinstance(value, str) and step.isdigit():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def _of_reply(expected: Expectation, reply: str) -> Iterator[str]:
    for phrase in expected.says:
        if not _says(reply, phrase):
            shown = phrase if isinstance(phrase, str) else " or ".join(phrase)
            yield f"the reply does not say {shown!r}: {_shown(reply)}"
    for phrase in expected.never_says:
        if _says(reply, phrase):
            yield f"the reply says {phrase!r}: {_shown(reply)}"
    if expected.language is not None and language_of(reply) != expected.language:
        yield f"the reply is not in the language {expected.language}: {_shown(reply)}"


def _says(reply: str, phrase: Phrase) -> bool:
    alternatives = (phrase,) if isinstance(phrase, str) else phrase
    return any(one.casefold() in reply.casefold() for one in alternatives)


def _fits(wanted: JsonValue, found: Any) -> bool:
    match wanted:
        case {"has": str(text), **rest} if not rest:
            return text.casefold() in _text(found).casefold()
        case {"lacks": str(text), **rest} if not rest:
            return text.casefold() not in _text(found).casefold()
        case {"any": list(alternatives), **rest} if not rest:
            return any(_fits(one, found) for one in alternatives)
        case _:
            return bool(wanted == found)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
