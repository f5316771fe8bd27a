"""JSON schemas of tools and answers, in the form that model APIs accept.

ADK has the same conversions in `models.lite_llm`, but importing it takes 21 MB and half a second
for types of Gemini's Interactions API. A test compares these conversions with ADK's.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

from google.adk.integrations.openai._openai_schema import enforce_strict_openai_schema
from google.adk.utils._schema_utils import lowercase_schema_types
from google.genai.types import FunctionDeclaration, Schema
from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json, to_json

Json = dict[str, Any]

_LONGEST_DESCRIPTION = 1024
_RESPONSE_FORMATS = ("json_object", "json_schema")


def tool_param(declaration: FunctionDeclaration) -> Json:
    """Return a tool; its description includes the schema of its result, if it fits."""
    if given := declaration.parameters_json_schema:
        parameters = _parameters(to_json(given, serialize_unknown=True))
    else:
        parameters = {"type": "object", "properties": {}}
        parameters |= _json_schema(declaration.parameters) or {}
    description = declaration.description or ""
    result = _json_schema(declaration.response_json_schema or declaration.response)
    if result and result.keys() - {"type"}:
        schema = json.dumps(result, sort_keys=True, separators=(",", ":"))
        longer = f"{description}\nReturns a value conforming to this schema: {schema}".lstrip("\n")
        description = longer if len(longer) <= _LONGEST_DESCRIPTION else description
    function = {"name": declaration.name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


@lru_cache(maxsize=1024)
def _parameters(schema: bytes) -> Json:
    """Return the parameter schema of a tool, which must not be modified.

    Cached because it is the same in each model call, and building it takes 33 us per tool.
    """
    parameters: Json = from_json(schema)
    lowercase_schema_types(parameters)
    return parameters


def response_format(schema: object) -> Json | None:
    """Return the `response_format` for a pydantic model, an instance of one, or a schema."""
    if isinstance(schema, Mapping) and schema.get("type") in _RESPONSE_FORMATS:
        return dict(schema)
    name = None
    if isinstance(schema, BaseModel) and not isinstance(schema, Schema):
        schema = type(schema)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        name, schema = schema.__name__, schema.model_json_schema()
    if (found := _json_schema(schema)) is None:
        return None
    enforce_strict_openai_schema(found)
    name = name or str(found.get("title", "response"))
    json_schema = {"name": name, "strict": True, "schema": found}
    return {"type": "json_schema", "json_schema": json_schema}


def json_schema(schema: Any) -> Json:
    """Return the JSON schema of any type that ADK accepts, such as a pydantic model or a list."""
    if isinstance(schema, BaseModel) and not isinstance(schema, Schema):
        schema = type(schema)
    found = _json_schema(schema)
    return TypeAdapter(schema).json_schema() if found is None else found


def call_arguments(text: str) -> Any:
    """Parse the arguments of a call; almost valid JSON is repaired as ADK does.

    Raises:
        ValueError: the text cannot be repaired.
    """
    try:
        return json.loads(text or "{}")
    except ValueError:
        from google.adk.models.lite_llm import _parse_tool_call_arguments

        return _parse_tool_call_arguments(text)


def _json_schema(schema: object) -> Json | None:
    if isinstance(schema, Schema):
        found = schema.model_dump(by_alias=True, exclude_none=True, mode="json")
    elif isinstance(schema, Mapping):
        found = deepcopy(dict(schema))
    else:
        return None
    lowercase_schema_types(found)
    return found
