"""Types of the values at a path according to the models, and the check of values."""

from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from .document import SECTIONS, Resume
from .errors import (
    InvalidDateError,
    InvalidValueError,
    ResumeError,
    UnknownFieldError,
    UnknownSectionError,
)
from .labels import Language
from .path import Path

Kind = Literal["object", "list", "text", "any"]

_EXPECTATIONS: dict[str, dict[Language, str]] = {
    "string": {"zh": "一段文字", "en": "text"},
    "list": {"zh": "一个列表", "en": "a list"},
    "object": {"zh": "由字段组成的对象", "en": "an object made of fields"},
    "resume_email": {"zh": "邮箱地址，例如 name@example.com", "en": "like name@example.com"},
}
_ERROR_TYPES = {
    "string_type": "string",
    "list_type": "list",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "resume_email": "resume_email",
}


@dataclass(frozen=True)
class Shape:
    """The kind of value at a path; `annotation` is its type, or `None` for unknown fields."""

    kind: Kind
    annotation: Any = None

    def check(self, path: Path, value: JsonValue) -> JsonValue:
        """Return the value in canonical form (dates in ISO form, one text as a list of one).

        Raises:
            InvalidDateError: a date cannot be read.
            InvalidValueError: the value has another shape.
        """
        if self.annotation is None:
            return value
        try:
            checked = _adapter(self.annotation).validate_python(value)
        except ValidationError as error:
            raise _friendly(path, error.errors(include_url=False)[0]) from None
        dumped: JsonValue = _adapter(self.annotation).dump_python(
            checked, mode="json", exclude_unset=True
        )
        return dumped


def shape_at(path: Path, *, known: frozenset[str] = frozenset()) -> Shape:
    """Return what may stand at a path.

    `known` names fields outside JSON Resume that the document holds at this path's parent; they
    take any value.

    Raises:
        UnknownSectionError, UnknownFieldError: JSON Resume has no such place.
    """
    if not path.steps:
        return Shape("object", Resume)
    if path.section not in SECTIONS and path.section not in known:
        raise UnknownSectionError(name=path.section, known=", ".join(SECTIONS))
    annotation: Any = Resume
    for step in path.steps:
        holder, annotation = annotation, _step_into(annotation, step)
    if annotation is not None:
        return Shape(_kind(annotation), annotation)
    last = path.steps[-1]
    if isinstance(last, str) and last not in known:
        raise UnknownFieldError(section=path.section, name=last, known=_field_names(holder))
    return Shape("any")


@cache
def field_kind(section: str, field: str) -> Kind | None:
    """Return the kind of a field of a section's entries (or of `basics`); `None` if unknown."""
    place = Path((section, field)) if section == "basics" else Path((section, 0, field))
    try:
        return shape_at(place).kind
    except ResumeError:
        return None


def _step_into(annotation: Any, step: str | int) -> Any:
    inner = _bare(annotation)
    if isinstance(step, int):
        return get_args(inner)[0] if get_origin(inner) is list else None
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        field = inner.model_fields.get(step)
        return field.rebuild_annotation() if field else None
    return None


def _bare(annotation: Any) -> Any:
    """Take `Annotated` and `| None` off a type."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            annotation = next(arg for arg in get_args(annotation) if arg is not NoneType)
        else:
            return annotation


def _kind(annotation: Any) -> Kind:
    inner = _bare(annotation)
    if get_origin(inner) is list:
        return "list"
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return "object"
    return "text" if inner is str else "any"


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def _field_names(annotation: Any) -> str:
    inner = _bare(annotation)
    known = isinstance(inner, type) and issubclass(inner, BaseModel)
    return ", ".join(inner.model_fields) if known else "-"


def _friendly(path: Path, error: ErrorDetails) -> ResumeError:
    if error["type"] == "resume_date":
        return InvalidDateError(str(error["input"]))
    place = path
    for step in error["loc"]:
        place = place / step
    expected = _EXPECTATIONS.get(_ERROR_TYPES.get(error["type"], ""))
    return InvalidValueError(
        path=str(place), expected=expected or {"zh": error["msg"], "en": error["msg"]}
    )
