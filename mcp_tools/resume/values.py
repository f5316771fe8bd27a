"""The kinds of values in a resume: texts, dates, addresses, and how strictly they are checked.

Dates and e-mail addresses are checked strictly by default; a document that arrives whole is read
with `LENIENT`, because refusing a resume for one odd date would help nobody.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from .dates import parse_date
from .errors import InvalidDateError

LENIENT: Mapping[str, bool] = MappingProxyType({"lenient": True})
"""Validation context under which dates and addresses that cannot be read are left as they are."""

_EMAIL = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;]+")


def is_lenient(info: ValidationInfo) -> bool:
    """Tell whether a whole document is being read."""
    return bool(info.context and info.context.get("lenient"))


def _partial_date(value: object, info: ValidationInfo) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return value
    try:
        return parse_date(value)
    except InvalidDateError as error:
        if is_lenient(info):
            return value
        raise PydanticCustomError("resume_date", "not a date", {"text": error.text}) from None


def _email(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and not is_lenient(info) and not _EMAIL.fullmatch(value):
        raise PydanticCustomError("resume_email", "not an e-mail address")
    return value


def _list_of_one(value: object) -> object:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(coerce_numbers_to_str=True)] | None
Texts = Annotated[list[str], BeforeValidator(_list_of_one)] | None
PartialDate = Annotated[str | None, BeforeValidator(_partial_date)]
Email = Annotated[str | None, BeforeValidator(_email)]
