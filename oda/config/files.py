"""YAML files -> `Configuration`, with errors that say where to look and what to do."""

import logging
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from oda.config.problems import dangling_references, describe
from oda.config.records import (
    AgentsFile,
    CapabilitiesFile,
    Configuration,
    McpFile,
    ModelsFile,
    RetryFile,
    TriggersFile,
    WebhooksFile,
)
from oda.errors import ConfigurationError

logger = logging.getLogger(__name__)

File = TypeVar("File", bound=BaseModel)

_FILES = (
    *("models.yaml", "agents.yaml", "mcp.yaml", "retry.yaml", "capabilities.yaml"),
    *("webhooks.yaml", "triggers.yaml"),
)


def default_directory() -> Path:
    """`ODA_CONFIG_DIR`, or `config` in the current directory."""
    return Path(os.environ.get("ODA_CONFIG_DIR") or "config")


def load_configuration(directory: Path) -> Configuration:
    """Read and check all files of `directory`; missing files are skipped.

    Raises:
        ConfigurationError: naming file, key and reason.
    """
    configuration = Configuration(
        models=read_file(directory / "models.yaml", ModelsFile).models,
        agents=read_file(directory / "agents.yaml", AgentsFile).agents,
        mcp_servers=read_file(directory / "mcp.yaml", McpFile).servers,
        retry_policies=read_file(directory / "retry.yaml", RetryFile).policies,
        capabilities=read_file(directory / "capabilities.yaml", CapabilitiesFile).capabilities,
        webhooks=read_file(directory / "webhooks.yaml", WebhooksFile).webhooks,
        triggers=read_file(directory / "triggers.yaml", TriggersFile).triggers,
    )
    for file, problem in dangling_references(configuration):
        raise ConfigurationError(f"{directory / file}: {problem.text}", remedy=problem.remedy)
    return configuration


class ConfigurationFiles:
    """The current configuration of a directory, reloaded when its files change."""

    def __init__(self, directory: Path) -> None:
        """Read the files.

        Raises:
            ConfigurationError: when they are wrong.
        """
        self._directory = directory
        self._stamps = self._stamp()
        self._configuration = load_configuration(directory)

    def current(self) -> Configuration:
        """The configuration, read again if a file has changed; the last good one after a bad edit.

        Costs one `stat` for each file as long as nothing changes.
        """
        stamps = self._stamp()
        if stamps != self._stamps:
            self._stamps = stamps
            try:
                self._configuration = load_configuration(self._directory)
            except ConfigurationError as error:
                logger.error("configuration not changed, because of an error: %s", error)
            else:
                logger.info("configuration read again from %s", self._directory)
        return self._configuration

    def _stamp(self) -> tuple[tuple[int, int] | None, ...]:
        return tuple(_stamp(self._directory / name) for name in _FILES)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


_configured_by: ContextVar[Callable[[], Configuration] | None] = ContextVar(
    "oda_configured_by", default=None
)


@contextmanager
def configured_by(configuration: Callable[[], Configuration]) -> Iterator[None]:
    """Let an application's configuration hold for the code that is loaded inside of this block."""
    token = _configured_by.set(configuration)
    try:
        yield
    finally:
        _configured_by.reset(token)


def current_configuration() -> Configuration:
    """Return the configuration that applies to code being loaded.

    This is the application's configuration, or, if no application loads the code, the current files
    of `default_directory()`.

    Raises:
        ConfigurationError: the files are invalid.
    """
    configuration = _configured_by.get()
    return load_configuration(default_directory()) if configuration is None else configuration()


def read_file(path: Path, kind: type[File]) -> File:
    """Read one file of the configuration; a missing file counts as empty.

    Raises:
        ConfigurationError: naming file, key and reason.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return kind()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path}: cannot be read: {error}", remedy="the file must be readable UTF-8 text"
        ) from error
    try:
        content = yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(
            f"{path}: not valid YAML: {reason}", remedy="correct it"
        ) from error
    try:
        return kind.model_validate(
            {} if content is None else content, context={"directory": path.parent}
        )
    except ValidationError as error:
        problem = describe(error)
        raise ConfigurationError(f"{path}: {problem.text}", remedy=problem.remedy) from error


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe subset, without keys that are given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", node.start_mark
                )
        return super().construct_mapping(node, deep=deep)
