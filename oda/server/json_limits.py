"""Checks that JSON is cheap to parse: depth, number of values, size of numbers."""

import asyncio
import json
import re
from math import isinf
from typing import Any, NoReturn

from oda.settings import LimitSettings

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_ESCAPES_PER_VALUE = 20
_VAST = "The body has a number that no double can hold."
_MOST_MEMBERS = 10_000
"""Maximum members of one object: each unknown one would add a sentence to the refusal of
a model.
"""
_QUICK = 1 << 16
"""Size in bytes below which parsing takes at most some milliseconds."""


class _Fault(Exception):
    """Raised with the reason why a text is refused, as a sentence."""


async def find_json_fault(text: bytes, limits: LimitSettings) -> str | None:
    """Return `json_fault`, computed in a thread if the text is long."""
    if len(text) <= _QUICK:
        return json_fault(text, limits)
    return await asyncio.to_thread(json_fault, text, limits)


def json_fault(text: bytes, limits: LimitSettings) -> str | None:
    """Return the reason why a JSON text is refused, as a sentence; None if it may be parsed.

    Invalid JSON is left to the parser to refuse, if that is cheap.
    """
    try:
        text.decode()
    except UnicodeDecodeError:
        return "The body is not valid UTF-8."
    if b"\0" in text:
        return "The body is not valid JSON."
    if text.count(b"\\") > limits.json_values * _ESCAPES_PER_VALUE:
        return "The body has too many escaped characters; send text as UTF-8."
    if _has_too_many(text, limits.json_values):
        return f"The body has more than {limits.json_values} values."
    try:
        _check(_parsed(text), limits.json_depth)
    except RecursionError:
        return f"The body is nested deeper than {limits.json_depth} levels."
    except _Fault as fault:
        return str(fault)
    except json.JSONDecodeError:
        return None
    except ValueError:
        return _VAST
    return None


def _has_too_many(text: bytes, most: int) -> bool:
    """Return whether a text has too many values.

    Quotes are counted before strings are matched: a regex search through a text that consists of
    strings would block all threads while it runs.
    """
    if _values(text) <= most:
        return False
    if text.count(b'"') - text.count(b'\\"') > 4 * most:  # keys have two each, and values
        return True
    return _values(_STRING.sub(b"", text)) > most


def _values(text: bytes) -> int:
    """Return an upper bound of the number of values."""
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def _parsed(text: bytes) -> Any:
    return json.loads(text, parse_constant=_no_constant, parse_float=_finite)


def _no_constant(name: str) -> NoReturn:
    raise _Fault("The body is not valid JSON; NaN and Infinity are no JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise _Fault(_VAST)
    return number


def _check(value: Any, max_depth: int) -> None:
    level, depth = [value], 0
    while level:
        containers = [one for one in level if isinstance(one, dict | list)]
        depth += bool(containers)
        if depth > max_depth:
            raise _Fault(f"The body is nested deeper than {max_depth} levels.")
        for one in level:
            if isinstance(one, dict) and len(one) > _MOST_MEMBERS:
                raise _Fault(f"The body has an object of more than {_MOST_MEMBERS} members.")
            if isinstance(one, int) and one.bit_length() > 1023 and _overflows(one):
                raise _Fault(_VAST)
        level = [
            item for one in containers for item in (one.values() if isinstance(one, dict) else one)
        ]


def _overflows(number: int) -> bool:
    try:
        float(number)
    except OverflowError:
        return True
    return False
