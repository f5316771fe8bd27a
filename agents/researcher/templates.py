"""The templates of `config/templates/`, by name."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from oda import Settings
from oda.config.files import read_file
from oda.errors import ConfigurationError, InvalidRequestError

from .template import Template, choices

_SHIPPED = Path(__file__).parents[2] / "config" / "templates"


class Templates:
    """The templates of some folders; of two with one name the one in the first folder counts.

    Raises:
        ConfigurationError: a file is wrong, naming file, key and reason.
    """

    def __init__(self, *folders: Path) -> None:
        found: dict[str, Template] = {}
        for folder in folders:
            for file in sorted(folder.glob("*.yaml")):
                found.setdefault(file.stem, _read(file))
        self._templates = found

    def __iter__(self) -> Iterator[Template]:
        return iter(self._templates.values())

    def get(self, name: str) -> Template:
        """Return the template of that name.

        Raises:
            InvalidRequestError: it does not exist; the message lists the known ones.
        """
        if (template := self._templates.get(name)) is None:
            raise InvalidRequestError(
                f"There is no template {name!r}.",
                remedy=choices("templates", name, self._templates),
            )
        return template


@cache
def templates() -> Templates:
    """The templates of this process: those of the configuration, then those of this application.

    They are read once, as the graph has an agent for each with `agent_mode`: a new or changed one
    counts from the next start (`oda serve --reload` starts anew by itself).

    Raises:
        ConfigurationError: a file is wrong.
    """
    return Templates(Settings.load().config_dir / "templates", _SHIPPED)


def names() -> list[str]:
    """The names of the templates of this process, for `GET /v1/apps`."""
    return [template.name for template in templates()]


def _read(file: Path) -> Template:
    template = read_file(file, Template)
    if template.name != file.stem:
        raise ConfigurationError(
            f"{file}: name: {template.name!r} is not the name of the file",
            remedy=f"call it {file.stem}, or the file {template.name}.yaml",
        )
    return template
