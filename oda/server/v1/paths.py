"""Types of path parameters and their bounds."""

from typing import Annotated

from fastapi import Path

_LONGEST = 128

AppName = Annotated[str, Path(max_length=_LONGEST, description="One of `/v1/apps`.")]
SessionId = Annotated[
    str,
    Path(
        max_length=_LONGEST,
        json_schema_extra={"format": "id"},
        description="As it was given or made.",
    ),
]
TurnId = Annotated[str, Path(max_length=_LONGEST, description="As it was made.")]
