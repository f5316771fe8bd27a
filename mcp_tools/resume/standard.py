"""Conversion of a resume to and from the official JSON Resume schema (1.0.0).

The schema allows only its own sections, no empty values, only ISO dates, and a version as text.
Whatever does not fit is set aside in `meta`, as a JSON Patch that restores it, so nothing is lost.
"""

import re

from pydantic import JsonValue

from .document import SECTIONS, JsonObject, Resume, as_count
from .limits import check_limits
from .patch import Operation, apply_patch, diff

SET_ASIDE = "x-set-aside"
"""The member of `meta` that holds the patch."""

_MEMBERS = frozenset({*SECTIONS, "meta"})
_DATES = frozenset({"startDate", "endDate", "date", "releaseDate"})
_DATE = re.compile(r"[12]\d{3}(?:-[01]\d(?:-[0-3]\d)?)?", re.ASCII)


def conforming(resume: Resume) -> JsonObject:
    """Return the document in the form of the schema."""
    document = resume.to_json()
    fitting = {
        name: _fitting(value)
        for name, value in document.items()
        if (name in _MEMBERS and value is not None)
        or (name == "$schema" and isinstance(value, str))
    }
    if not fitting.get("meta"):
        fitting.pop("meta", None)
    set_aside = diff(_without_version(fitting), _without_version(document))
    meta = fitting.get("meta")
    members = dict(meta) if isinstance(meta, dict) else {}
    if "version" in members:
        members["version"] = str(members["version"])
    if set_aside:
        members[SET_ASIDE] = [{**operation} for operation in set_aside]  # type: ignore[dict-item]
    return {**fitting, "meta": members} if members else fitting


def restored(document: JsonObject) -> JsonObject:
    """Return the document with the set-aside values restored; ignore a patch that does not apply.

    Raises:
        ResumeTooLargeError: the document, or what is set aside, exceeds the limits of a resume.
    """
    meta = document.get("meta")
    if not isinstance(meta, dict) or SET_ASIDE not in meta:
        check_limits(document)
        return document
    rest = {name: value for name, value in meta.items() if name != SET_ASIDE}
    bare = {name: value for name, value in document.items() if name != "meta"} | (
        {"meta": rest} if rest else {}
    )
    check_limits(bare)
    try:
        return apply_patch(bare, _operations(meta[SET_ASIDE]))
    except (LookupError, TypeError, ValueError):
        return bare


def _operations(found: JsonValue) -> list[Operation]:
    if not isinstance(found, list):
        raise TypeError("a patch is a list")
    operations: list[Operation] = []
    for one in found:
        if not isinstance(one, dict) or one.get("op") not in ("add", "replace"):
            raise ValueError("no operation that puts something back")
        path, value = one["path"], one["value"]
        if not isinstance(path, str):
            raise TypeError("a path is a text")
        check_limits(value, depth=path.count("/"))
        operations.append({"op": "add", "path": path, "value": value})
    return operations


def _fitting(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_fitting(item) for item in value]
    if isinstance(value, dict):
        return {
            name: _fitting(item)
            for name, item in value.items()
            if item is not None
            and (name not in _DATES or _is_date(item))
            and (name != "version" or _is_version(item))
        }
    return value


def _is_date(value: JsonValue) -> bool:
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def _without_version(document: JsonObject) -> JsonObject:
    """Return the document without its version, if that is to be written as text."""
    meta = document.get("meta")
    if not isinstance(meta, dict) or not _is_version(meta.get("version")):
        return document
    return {**document, "meta": {name: meta[name] for name in meta if name != "version"}}


def _is_version(value: JsonValue) -> bool:
    """Check whether a version survives the round trip through its text."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    return as_count(str(value)) == value
