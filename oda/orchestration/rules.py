"""Settings of an application's orchestration; plain data that may come from YAML."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from oda.errors import ConfigurationError

CONTINUE = "continue_current"
EXIT = "exit_current"
"""The intents besides those of the scenes."""

_ENDS = re.compile(r"^\W+|(?<!\W)\W+$")
"""Marks and blanks at the ends. The lookbehind keeps the search linear in a run of marks."""


def _time_zone(name: str) -> str:
    """Check the name of a time zone.

    Raises:
        ValueError: there is no such time zone.
    """
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {name!r}, such as Asia/Shanghai") from None
    return name


def _pattern(text: str) -> str:
    """Check a regular expression.

    Raises:
        ValueError: it is invalid.
    """
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    return text


TimeZone = Annotated[str, AfterValidator(_time_zone)]
Pattern = Annotated[str, AfterValidator(_pattern)]


class Command(BaseModel):
    """Explicit words that mean an intent; they are understood without a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    intent: str
    pattern: Pattern
    """Matches the whole message, its marks at both ends left out; named groups become slots."""
    score: Annotated[int, Field(ge=0, le=100)] = 95


class OrchestrationRules(BaseModel):
    """Thresholds, times, words and texts of an orchestrator.

    Source of the defaults: the specification of the kernel ("Guardrails", "Session state").
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    high: Annotated[int, Field(ge=0, le=100)] = 75
    """Scores from here on are believed."""
    middle: Annotated[int, Field(ge=0, le=100)] = 50
    """Scores from here on are asked about; lower ones change nothing."""
    pending_turns: Annotated[int, Field(ge=1)] = 3
    """How many turns a question about another scene stays open."""
    idle_s: Annotated[float, Field(gt=0)] = 600.0
    """Outside of the default scene: how long nothing may happen before it is left."""
    expire_s: Annotated[float, Field(gt=0)] = 86_400.0
    """How long nothing may happen before all that is known of a session is dropped."""
    forgets: bool = True
    """Whether that state is dropped then, and when a new day begins; else it is kept forever."""
    time_zone: TimeZone = "UTC"
    """Time zone of users whose state has no `user:time_zone`."""
    carried: frozenset[str] = frozenset()
    """Keys of a scene's data that other scenes get too, until the day ends."""
    max_chars: Annotated[int, Field(ge=1)] = 4000
    """Longest message."""
    not_allowed: tuple[Pattern, ...] = ()
    """Patterns that no message may contain."""
    history: Annotated[int, Field(ge=0)] = 5
    """How many exchanges of a user are remembered over all sessions."""
    commands: tuple[Command, ...] = ()
    confirm: frozenset[str] = frozenset({"yes", "y", "yeah", "yep", "sure", "ok", "okay"})
    """Whole messages that confirm a change of scene, in lower case, without punctuation at the
    ends.
    """
    deny: frozenset[str] = frozenset({"no", "n", "nope", "nah"})
    particles: Pattern = "[呀啊哦噢喔嘛啦哈呢咯哟的吧]+$"
    """Particles that may follow words of agreement or refusal without changing their meaning."""
    texts: Mapping[Literal["zh", "en"], Mapping[str, str]] = {}
    """Texts of the kernel; see `wording.py` for their names and defaults."""

    @model_validator(mode="after")
    def _levels_in_order(self) -> Self:
        if self.middle > self.high:
            raise ValueError("middle must not be above high")
        if both := self.confirm & self.deny:
            raise ValueError(f"these words both agree and refuse: {sorted(both)}")
        return self

    @classmethod
    def from_yaml(cls, file: Path, **overrides: Any) -> Self:
        """Read the rules from a file.

        Raises:
            ConfigurationError: naming the file, the key and the reason.
        """
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
            return cls.model_validate({**content, **overrides})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"])
            raise ConfigurationError(
                f"{file}: {where}: {first['msg']}", remedy="correct it"
            ) from error
        except (OSError, TypeError, yaml.YAMLError) as error:
            raise ConfigurationError(f"{file}: {error}", remedy="correct it") from error

    @cached_property
    def forbidden(self) -> re.Pattern[str] | None:
        """One pattern for all that no message may contain."""
        if not self.not_allowed:
            return None
        return re.compile("|".join(f"(?:{one})" for one in self.not_allowed), re.IGNORECASE)

    @cached_property
    def compiled_commands(self) -> tuple[tuple[Command, re.Pattern[str]], ...]:
        return tuple((one, re.compile(one.pattern, re.IGNORECASE)) for one in self.commands)


def trimmed(text: str) -> str:
    """A message without marks and blanks at its ends."""
    return _ENDS.sub("", text)


def bare(text: str) -> str:
    """A message as words are compared: trimmed, in lower case."""
    return trimmed(text).lower()
