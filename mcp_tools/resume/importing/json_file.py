"""A resume in JSON: JSON Resume, or the same with other people's names for its parts."""

import json
import re
from typing import NoReturn

from pydantic import JsonValue

from mcp_tools.resume.document import SECTIONS, JsonObject, Resume
from mcp_tools.resume.errors import BrokenFileError, InvalidDocumentError, NothingFoundError
from mcp_tools.resume.naming import load_resume

_MAX_DEPTH = 64
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WRAPPERS = ("resume", "resume_data", "data", "cv")


def json_resume(text: str) -> Resume:
    """Read a resume from JSON text.

    Raises:
        BrokenFileError: the text is no JSON.
        InvalidDocumentError: the JSON is no resume.
        NothingFoundError: there is nothing in it.
    """
    resume = load_resume(_unwrapped(_parse(text)))
    if resume.is_empty:
        raise NothingFoundError(
            reason={
                "zh": "JSON 里没有简历的任何部分",
                "en": "the JSON has none of a resume's sections",
            }
        )
    return resume


def _parse(text: str) -> JsonObject:
    try:
        found = _storable(json.loads(text, parse_constant=_refuse), _MAX_DEPTH)
    except json.JSONDecodeError as error:
        raise _broken(
            f"第 {error.lineno} 行第 {error.colno} 列附近有语法错误",
            f"there is a mistake near line {error.lineno}, column {error.colno}",
        ) from None
    except (ValueError, RecursionError):
        raise _broken(
            "嵌套过深或数字不合法", "it is nested too deeply or holds an odd number"
        ) from None
    if not isinstance(found, dict):
        raise InvalidDocumentError(path="/", reason="must be an object")
    return found


def _unwrapped(found: JsonObject) -> JsonObject:
    """Take a document out of an envelope such as `{"resume": {…}}`."""
    for name in _WRAPPERS:
        inner = found.get(name)
        if isinstance(inner, dict) and not any(section in found for section in SECTIONS):
            return inner
    return found


def _storable(value: JsonValue, depth: int) -> JsonValue:
    """Replace the signs that no store takes; refuse what is nested too deeply."""
    if depth == 0:
        raise RecursionError
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {
            _UNSTORABLE.sub("\ufffd", name): _storable(item, depth - 1)
            for name, item in value.items()
        }
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _broken(chinese: str, english: str) -> BrokenFileError:
    return BrokenFileError(format="JSON", reason={"zh": chinese, "en": english})
