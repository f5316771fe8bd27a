"""JSON integers, which may be written with a decimal point."""

from typing import Any

from pydantic import BeforeValidator


def json_integer(value: Any) -> Any:
    """Return an integral float as an int: JSON does not distinguish 4.0 from 4."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


JSON_INTEGER = BeforeValidator(json_integer)
"""For strict fields, as the last annotation: `Annotated[int, Field(ge=0, strict=True),
JSON_INTEGER]`.
"""
