"""Options of a template: names with types, limits and defaults."""

from typing import Annotated, Literal, Self, assert_never

from pydantic import (
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from oda.config.records import Record, Text

OptionValue = StrictBool | StrictInt | StrictFloat | StrictStr


class Option(Record):
    """One choice, in the words of JSON Schema."""

    type: Literal["string", "integer", "number", "boolean"]
    description: Text
    default: OptionValue
    enum: tuple[OptionValue, ...] = ()
    """The allowed values; if empty, any value is allowed."""
    minimum: float | None = None
    maximum: float | None = None
    """Upper bound of a number."""
    max_length: Annotated[int, Field(strict=True, ge=1, le=2000)] = 200
    """Characters of a string."""

    @model_validator(mode="after")
    def _default_is_one(self) -> Self:
        for value in (*self.enum, self.default):
            try:
                self.checked(value)
            except ValueError as error:
                raise ValueError(f"{value!r} does not fit: {error}") from error
        return self

    def checked(self, value: JsonValue) -> OptionValue:
        """A value that somebody has chosen.

        Raises:
            ValueError: it does not fit, and why.
        """
        fitting = self._of_type(value)
        if self.enum and fitting not in self.enum:
            raise ValueError(f"it must be one of {', '.join(map(repr, self.enum))}, not {value!r}")
        return fitting

    def _of_type(self, value: JsonValue) -> OptionValue:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        match self.type:
            case "string":
                if not isinstance(value, str):
                    raise ValueError("it must be a string")
                if not value.strip() or len(value) > self.max_length:
                    raise ValueError(f"it must have 1 to {self.max_length} characters")
                return value.strip()
            case "boolean":
                if not isinstance(value, bool):
                    raise ValueError("it must be true or false")
                return value
            case "integer" | "number":
                if not is_number or (self.type == "integer" and not isinstance(value, int)):
                    kind = "a whole number" if self.type == "integer" else "a number"
                    raise ValueError(f"it must be {kind}")
                return self._in_range(value)
            case _:
                assert_never(self.type)

    def _in_range(self, value: JsonValue) -> OptionValue:
        assert isinstance(value, int | float)
        if self.minimum is not None and not value >= self.minimum:
            raise ValueError(f"it must be at least {self.minimum:g}")
        if self.maximum is not None and not value <= self.maximum:
            raise ValueError(f"it must be at most {self.maximum:g}")
        return value
