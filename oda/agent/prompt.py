"""Prompts as files: Markdown text under a version, in the `prompts` folder of an application."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from string import Template

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oda.config.problems import describe
from oda.errors import ConfigurationError

_RULE = "---\n"
_SHOWN = 12


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1)
    about: str = ""


@dataclass(frozen=True)
class Prompt:
    """An instruction for a model.

    `$name` in its text is a place to be filled; `$$` is a dollar sign.
    """

    name: str
    """That of its file."""
    version: int
    """To be raised with each change of the text, so that reports can be compared."""
    text: str
    about: str = ""

    @classmethod
    def read(cls, path: Path) -> "Prompt":
        """Read a file: `version` and perhaps `about` between two lines of `---`, then the text.

        Raises:
            ConfigurationError: there is no such file, or it is none of this kind.
        """
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path}: cannot be read: {error}") from error
        opening, _, rest = content.partition(_RULE)
        head, rule, text = rest.partition(f"\n{_RULE}")
        if opening or not rule:
            raise ConfigurationError(
                f"{path}: no version", remedy="begin with the lines ---, version: 1 and ---"
            )
        told = _read_head(path, head)
        if not Template(text).is_valid():
            raise ConfigurationError(
                f"{path}: a $ stands before what is no name", remedy="write $$ for a dollar sign"
            )
        return cls(path.stem, told.version, text.strip() + "\n", told.about)

    @property
    def digest(self) -> str:
        """A short hash of the text, which tells a change whose version was forgotten."""
        return sha256(self.text.encode()).hexdigest()[:_SHOWN]

    def filled(self, **values: str) -> str:
        """Return the text with its places filled.

        Raises:
            ConfigurationError: a place has no value, or a value no place.
        """
        places = set(Template(self.text).get_identifiers())
        if places != values.keys():
            raise ConfigurationError(
                f"the prompt {self.name!r} has the places {sorted(places)}, "
                f"and is given {sorted(values)}",
                remedy="correct the file or the code that fills it",
            )
        return Template(self.text).substitute(values)


def _read_head(path: Path, head: str) -> _Head:
    try:
        return _Head.model_validate(yaml.safe_load(head))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"{path}: not valid YAML: {reason}") from error
    except ValidationError as error:
        problem = describe(error)
        raise ConfigurationError(f"{path}: {problem.text}", remedy=problem.remedy) from error


def prompts_in(folder: Path) -> Iterator[Prompt]:
    """Yield the prompts of an application, given its folder.

    Raises:
        ConfigurationError: a file is no prompt.
    """
    yield from map(Prompt.read, sorted((folder / "prompts").glob("*.md")))
