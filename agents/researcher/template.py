"""A template: the kind of article, its inputs, and the prompt."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from string import Formatter
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from oda.config.records import Name, Record, Text
from oda.errors import InvalidRequestError
from oda.message.language import Language

from .instructions import article_rules
from .options import Option, OptionValue

_GIVEN = ("request", "files", "date", "search_results", "article_rules")
"""Placeholders besides the options."""
_UPLOAD = "{upload}"
"""In the name of a result: that of a file that came with the request has this suffix."""

Suffix = Annotated[str, StringConstraints(pattern=r"^\.[a-z0-9]{1,10}$")]
OptionName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class Localized(Record):
    """The same in both languages."""

    en: Text
    zh: Text

    def in_language(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


class Accepts(Record):
    """Which files may come with a request."""

    suffixes: tuple[Suffix, ...] = ()
    required: Annotated[bool, Field(strict=True)] = False
    """Whether at least one file is required."""
    at_most: Annotated[int, Field(strict=True, ge=1, le=20)] = 10

    @model_validator(mode="after")
    def _required_of_some_kind(self) -> Self:
        if self.required and not self.suffixes:
            raise ValueError("a file is required, but none has a suffix that is accepted")
        return self


class Template(Record):
    """A kind of article: how it is made, of what, and what comes out."""

    name: Name
    """That of its file."""
    title: Localized
    description: Localized
    agent_mode: Annotated[bool, Field(strict=True)]
    """Whether an agent works on it in rounds; otherwise a single model call answers."""
    flow: Literal["video"] | None = None
    """A way of its own, instead of both."""
    capabilities: tuple[Name, ...] = ()
    """Capabilities of the agent."""
    search: Annotated[bool, Field(strict=True)] = False
    """Whether a search precedes the model call."""
    accepts: Accepts = Accepts()
    result: Annotated[tuple[Text, ...], Field(min_length=1)] = ("article.html",)
    """Files in output/ that must be there at the end, by name or pattern; `*{upload}` is one with
    the suffix of the request's file."""
    options: Mapping[OptionName, Option] = {}
    prompt: Text
    """The prompt. Placeholders: the options, and request, files, date, search_results,
    article_rules.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for given in set(self.options) & set(_GIVEN):
            raise ValueError(f"options.{given}: this name has a meaning of its own")
        known = {*self.options, *_GIVEN}
        used = list(_placeholders(self.prompt))
        for name in used:
            if name not in known:
                raise ValueError(
                    f"prompt: there is no {{{name}}}; there are {', '.join(sorted(known))}, and "
                    "{{ stands for a brace"
                )
        if "request" not in used:
            raise ValueError("prompt: {request} is missing, so nobody would read the request")
        if self.search != ("search_results" in used):
            raise ValueError("search: true and {search_results} in the prompt go together")
        if self.search and self.agent_mode:
            raise ValueError("search: an agent searches by itself; use the capability sourcing")
        if self.agent_mode != bool(self.capabilities):
            raise ValueError("capabilities: an agent needs some, and only an agent has them")
        return self

    @property
    def is_researched(self) -> bool:
        """Whether what it says has to stand in pages that were read."""
        return self.search or "sourcing" in self.capabilities

    def checked_options(self, given: Mapping[str, JsonValue]) -> dict[str, OptionValue]:
        """All options with their values, defaults where none was given.

        Raises:
            InvalidRequestError: naming the option and what is wrong with it.
        """
        for name in given:
            if name not in self.options:
                raise InvalidRequestError(
                    f"options.{name}: the template {self.name!r} has no such option",
                    remedy=choices("options", name, self.options),
                )
        checked: dict[str, OptionValue] = {}
        for name, option in self.options.items():
            try:
                checked[name] = option.checked(given[name]) if name in given else option.default
            except ValueError as error:
                raise InvalidRequestError(
                    f"options.{name}: {error}", remedy=f"it is: {option.description}"
                ) from error
        return checked

    def check_files(self, names: Sequence[str]) -> None:
        """Check that these files may come with a request.

        Raises:
            InvalidRequestError: a file is missing, superfluous, or of the wrong type.
        """
        accepted = ", ".join(self.accepts.suffixes) or "none"
        for name in names:
            if _suffix(name) not in self.accepts.suffixes:
                raise InvalidRequestError(
                    f"The template {self.name!r} does not take the file "
                    f"{PurePosixPath(name).name!r}.",
                    remedy=f"files it takes: {accepted}",
                )
        if self.accepts.required and not names:
            raise InvalidRequestError(
                f"The template {self.name!r} needs a file.", remedy=f"add one of: {accepted}"
            )
        if len(names) > self.accepts.at_most:
            raise InvalidRequestError(
                f"The template {self.name!r} takes at most {self.accepts.at_most} files.",
                remedy="send fewer",
            )

    def missing_results(self, output: Collection[str], uploads: Sequence[str]) -> list[str]:
        """Return the expected results that are missing.

        `output` holds the paths present in output/.
        """
        wanted = [
            result.replace(_UPLOAD, suffix)
            for result in self.result
            for suffix in (dict.fromkeys(map(_suffix, uploads)) if _UPLOAD in result else [""])
        ]
        return [one for one in wanted if not any(fnmatchcase(name.lower(), one) for name in output)]

    def prompt_for(
        self,
        request: str,
        *,
        options: Mapping[str, OptionValue],
        date: str,
        files: Sequence[str] = (),
        search_results: str = "",
    ) -> str:
        """The prompt with everything filled in.

        Args:
            request: The person's own words.
            options: As `checked_options` returns them.
            date: The day on which it is asked.
            files: Paths in the workspace.
            search_results: Marked as what strangers have written.
        """
        given = {
            "request": request.strip() or "(nothing; the files say it all)",
            "files": "\n".join(f"- {file}" for file in files) or "(none)",
            "date": date,
            "search_results": search_results,
            "article_rules": article_rules(in_file=self.agent_mode),
        }
        chosen = {name: _told(value) for name, value in options.items()}
        return self.prompt.format_map({**chosen, **given})


def _placeholders(prompt: str) -> Iterator[str]:
    for _, name, form, conversion in Formatter().parse(prompt):
        if name is not None:
            if form or conversion or not re.fullmatch("[a-z][a-z0-9_]*", name):
                raise ValueError(f"prompt: {{{name}}} is no placeholder; write a brace as {{{{")
            yield name


def choices(kind: str, name: str, known: Collection[str]) -> str:
    """Return the known names, for an error about an unknown one."""
    close = get_close_matches(name, known, n=1)
    listed = f"{kind}: {', '.join(sorted(known)) or 'none'}"
    return f"did you mean {close[0]!r}? {listed}" if close else listed


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _told(value: OptionValue) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
