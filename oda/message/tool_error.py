"""The error that a tool's result tells of."""

from collections.abc import Mapping
from typing import Any


def reported_error(result: Mapping[str, Any]) -> dict[str, str] | None:
    """Its `message`, and `code` if it has one; None if there is no `error`.

    An error is a text, or has both.
    """
    error = result.get("error")
    if not error:
        return None
    if not isinstance(error, Mapping) or not error.get("message"):
        return {"message": str(error)}
    told = {"message": str(error["message"])}
    if error.get("code"):
        told["code"] = str(error["code"])
    return told
