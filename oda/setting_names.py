"""Detection of unknown variables that begin with `ODA_`, such as misspelt ones."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from dotenv import dotenv_values
from pydantic import BaseModel
from pydantic_settings import BaseSettings

from oda.agent.retry import RetryPolicy

_PREFIX = "ODA_"
_OF_TESTS = "ODA_TEST_"
_OF_PROGRAMS = ("ODA_SEARCH_PROVIDER", "ODA_FETCH_ALLOW", "ODA_CJK_FONT")
"""Names that are read from the environment directly, where they are used."""


@dataclass(frozen=True)
class UnknownSetting:
    """A variable that no setting uses."""

    name: str
    source: str
    """Source: `the environment` or `.env`."""
    nearest: str | None
    """The most similar known name."""

    @property
    def reason(self) -> str:
        return f"there is no such setting; it is set in {self.source}"

    @property
    def remedy(self) -> str:
        return f"did you mean {self.nearest}?" if self.nearest else "take it out"


def unknown_settings() -> Iterator[UnknownSetting]:
    """Yield the unknown variables of the environment and of `.env` that begin with `ODA_`.

    Agents define their own by a `BaseSettings` whose `env_prefix` begins with `ODA_`; these are
    known once the agents have been loaded.
    """
    known = set(_known_names())
    sources = {"the environment": list(os.environ), ".env": list(dotenv_values(Path(".env")))}
    for source, variables in sources.items():
        for name in map(str.upper, variables):
            if name.startswith(_PREFIX) and not name.startswith(_OF_TESTS) and name not in known:
                nearest = get_close_matches(name, known, n=1, cutoff=0.75)
                yield UnknownSetting(name, source, nearest[0] if nearest else None)


def _known_names() -> Iterator[str]:
    yield from _OF_PROGRAMS
    yield from _names_of(RetryPolicy, "ODA_RETRY__")
    for settings in _loaded(BaseSettings):
        yield from _names_of(settings, settings.model_config.get("env_prefix") or "")


def _loaded(base: type[BaseSettings]) -> Iterator[type[BaseSettings]]:
    """Yield all settings classes of `oda` and of the loaded agents."""
    for settings in base.__subclasses__():
        yield settings
        yield from _loaded(settings)


def _names_of(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}".upper()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names_of(field.annotation, f"{prefix}{name}__")
