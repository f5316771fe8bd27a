"""Texts that are filled in from JSON; pure."""

import json
import re
from typing import Any

_PLACE = re.compile(r"\{([A-Za-z_]\w*(?:\.\w+)*)\}")


class NotFilledError(ValueError):
    """Raised when a value is not there that a text needs."""


def fill(text: str, values: Any) -> str:
    """Replace each `{a.b}` by the value under `b` of that under `a`; what is no text is JSON.

    Raises:
        NotFilledError: a value is missing.
    """

    def value_of(place: re.Match[str]) -> str:
        found = values
        for name in place[1].split("."):
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                raise NotFilledError(f"there is no {place[1]}")
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    return _PLACE.sub(value_of, text)
