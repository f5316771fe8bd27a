"""The form that a request wants its answer in: told in words, found in texts, checked. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai.types import Schema
from pydantic import BaseModel, TypeAdapter, ValidationError

from oda.agent.model.chat_schemas import Json, json_schema

ANSWER_TOOL_OF_ADK = "set_model_response"
"""The tool by which ADK has agents with tools answer, where a model cannot do both at once."""

FORM_KEY = "oda_answer_form"
"""`custom_metadata` of an answer whose form took more than the provider's parameter."""

_MOST_VALUES = 100
_MOST_PROBLEMS = 8
_LONGEST_PROBLEM = 300
_DECODER = json.JSONDecoder()


class UnfitText(Exception):
    """Raised when a text holds no JSON that fits; its message is written for the model."""

    def __init__(self, problem: str, *, has_json: bool) -> None:
        super().__init__(problem)
        self.has_json = has_json


@dataclass(frozen=True)
class AnswerForm:
    """What an answer must be."""

    schema: Any
    """Anything that ADK accepts: a pydantic model, a type such as `list[str]`, a JSON schema."""
    by_tool: bool = False
    """Whether ADK offers a tool for the answer, which a model may forget to use."""

    @classmethod
    def wanted_by(cls, request: LlmRequest) -> "AnswerForm | None":
        """Return the form of a request; None if it wants no JSON."""
        config = request.config
        schema = config.response_schema or config.response_json_schema
        if schema is not None:
            return cls(_without_envelope(schema))
        if config.response_mime_type == "application/json":
            return cls({})
        tool = request.tools_dict.get(ANSWER_TOOL_OF_ADK)
        schema = getattr(tool, "output_schema", None)
        return None if schema is None else cls(schema, by_tool=True)

    @cached_property
    def json_schema(self) -> Json:
        return json_schema(self.schema)

    @property
    def instruction(self) -> str:
        """The form in words, for models that do not get it otherwise."""
        schema = json.dumps(self.json_schema, ensure_ascii=False, separators=(",", ":"))
        fits = f" that fits this JSON schema: {schema}" if self.json_schema else ""
        return f"Your answer must be JSON and nothing else, without a code fence{fits}"

    def fitting(self, text: str) -> str:
        """Return the JSON in a text that fits: the whole text, or the last fitting value in it.

        Raises:
            UnfitText: there is none.
        """
        problem = None
        fit = None
        for found in _values_in(text):
            if (wrong := self._problem(found)) is None:
                fit = found
            else:
                problem = problem or wrong
        if fit is not None:
            return fit
        if problem is not None:
            raise UnfitText(problem, has_json=True)
        raise UnfitText("it holds no JSON" if text.strip() else "it is empty", has_json=False)

    def _problem(self, text: str) -> str | None:
        """Return why a JSON text does not fit, or None if it does."""
        if isinstance(self.schema, Mapping | Schema):
            return _against_json_schema(json.loads(text), self.json_schema)
        kind = type(self.schema) if isinstance(self.schema, BaseModel) else self.schema
        try:
            TypeAdapter(kind).validate_json(text)
        except ValidationError as error:
            problems = (f"{_place(one['loc'])}{one['msg']}" for one in error.errors())
            return _listed(problems)
        return None


def calls_of(custom_metadata: Mapping[str, Any] | None) -> int:
    """Return the number of model calls behind an answer, given its metadata."""
    return int(((custom_metadata or {}).get(FORM_KEY) or {}).get("calls", 1))


def _without_envelope(schema: Any) -> Any:
    """Return the schema in a `response_format` of OpenAI's, which ADK accepts as well."""
    if isinstance(schema, Mapping) and schema.get("type") == "json_schema":
        return (schema.get("json_schema") or {}).get("schema") or {}
    if isinstance(schema, Mapping) and schema.get("type") == "json_object":
        return {}
    return schema


def _values_in(text: str) -> Iterator[str]:
    """Yield the whole text if it is JSON, else each JSON object and array in it."""
    whole = text.strip()
    if _end_of_value(whole, 0) == len(whole) > 0:
        yield whole
        return
    start, tried = 0, 0
    while tried < _MOST_VALUES:
        starts = [place for mark in "{[" if (place := text.find(mark, start)) >= 0]
        if not starts:
            return
        start, tried = min(starts), tried + 1
        end = _end_of_value(text, start)
        if end is not None:
            yield text[start:end]
        start = end or start + 1


def _end_of_value(text: str, start: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _against_json_schema(value: Any, schema: Json) -> str | None:
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(value)
    return _listed(f"{_place(error.absolute_path)}{error.message}" for error in errors) or None


def _place(steps: Iterable[Any]) -> str:
    path = ".".join(map(str, steps))
    return f"{path}: " if path else ""


def _listed(problems: Iterable[str]) -> str:
    return "; ".join(one[:_LONGEST_PROBLEM] for one in islice(problems, _MOST_PROBLEMS))
