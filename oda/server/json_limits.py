"""What a JSON text may not be, found without parsing it: too deep, or nothing that JSON knows."""

import asyncio
import re
from itertools import accumulate
from math import isinf

_PIECE = re.compile(rb'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"?){1,4096}+', re.DOTALL)
"""A part of a text that ends outside of a string, small enough to let other threads run."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""With or without its end, so that each byte is looked at once."""
_NUMBER = re.compile(rb"[\d.]++(?:[eE][+-]?\d++)?")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): 255, ord("}"): 255}
_STEPS = bytes(_STEP.get(byte, 0) for byte in range(256))
_NO_BRACKETS = bytes(i for i in range(256) if i not in b"[]{}")
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_SLICE = 1 << 16
_LONGEST_NUMBER = 4300
"""As many digits as Python turns into an integer."""
_QUICK = 1 << 18
"""Bytes that are looked through in less than some milliseconds."""


async def find_json_fault(text: bytes, max_depth: int) -> str | None:
    """`json_fault`, in a thread when the text is long."""
    if len(text) <= _QUICK:
        return json_fault(text, max_depth)
    return await asyncio.to_thread(json_fault, text, max_depth)


def json_fault(text: bytes, max_depth: int) -> str | None:
    """Why a JSON text is refused, as a sentence; None when it may be parsed.

    Whether it is well-formed otherwise is the parser's to say. The time grows with the length.
    """
    try:
        text.decode()
    except UnicodeDecodeError:
        return "The body is not valid UTF-8."
    if b"\0" in text:
        return "The body is not valid JSON."
    bare = _without_strings(text)
    if _is_deeper(bare, max_depth):
        return f"The body is nested deeper than {max_depth} levels."
    if b"N" in bare or b"I" in bare:
        return "The body is not valid JSON; NaN and Infinity are no JSON."
    if _has_vast_number(bare):
        return "The body has a number that no double can hold."
    return None


def _without_strings(text: bytes) -> bytes:
    if len(text) <= _SLICE:
        return _STRING.sub(b"", text)
    return b"".join(_STRING.sub(b"", piece[0]) for piece in _PIECE.finditer(text))


def _is_deeper(bare: bytes, limit: int) -> bool:
    if bare.count(b"[") + bare.count(b"{") <= limit:
        return False
    return _deepest(bare.translate(_STEPS, _NO_BRACKETS), stop=limit) > limit


def _deepest(steps: bytes, stop: int) -> int:
    """The highest sum of the first n signed bytes; at least `stop + 1` when it is above `stop`."""
    signed = memoryview(steps).cast("b")
    depth = deepest = 0
    for start in range(0, len(signed), _SLICE):
        part = signed[start : start + _SLICE]
        deepest = max(deepest, max(accumulate(part, initial=depth)))
        if deepest > stop:
            break
        depth += sum(part)
    return deepest


def _has_vast_number(bare: bytes) -> bool:
    digits = bare.translate(_DIGITS, b"+")
    if b"0" * 200 not in digits and b"e000" not in digits:
        return False  # at most 199 digits and an exponent of two: below 1e308
    return any(_is_vast(found[0]) for found in _NUMBER.finditer(bare))


def _is_vast(number: bytes) -> bool:
    if len(number) > _LONGEST_NUMBER:
        return True
    try:
        return isinf(float(number))
    except ValueError:
        return False  # the parser will say so
