"""The border between `oda` and the terminal: what may reach it, and how a command ends."""

import atexit
import logging
import os
import sys
import traceback
import warnings
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from oda.cli.exit_code import ExitCode
from oda.errors import OdaError

if TYPE_CHECKING:
    from oda.settings import Settings
    from oda.telemetry import LogFormat, LogLevel

_LOGS_WHAT_IT_RAISES = ("google_adk.google.adk.sessions.database_session_service",)
"""Loggers whose errors reach the user as an error anyway."""


def run(app: typer.Typer) -> NoReturn:
    """Run the command of `sys.argv` and end the process."""
    silence_warnings()
    _tolerate_encodings()
    try:
        code: int = app(standalone_mode=False) or ExitCode.OK
    except Exception as error:
        code = report(error)
    end_process(code)


def report(error: Exception) -> ExitCode:
    """Say in one line on stderr what went wrong; the traceback only when debugging."""
    if isinstance(error, OdaError):
        text, code = str(error), ExitCode.NOT_STARTED
    elif isinstance(error, typer.TyperException):
        text, code = _usage(error), ExitCode.NOT_STARTED
    else:
        text = f"{type(error).__name__}: {error} (set ODA_LOG_LEVEL=debug to see where)"
        code = ExitCode.INTERNAL
    if debugging():
        traceback.print_exception(error)
    if text:
        print("error:", " ".join(text.split()), file=sys.stderr)
    return code


def load_settings(*, agents_dir: Path | None) -> "Settings":
    """Load the settings of an interactive command, and configure logging.

    Logs would disturb its output, so they are off unless the log level is set.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    from oda.settings import Settings

    settings = Settings.load(agents_dir=agents_dir)
    chosen = "log_level" in settings.model_fields_set
    set_up_logging(settings.log_level if chosen else "critical", settings.log_format)
    return settings


def set_up_logging(level: "LogLevel", log_format: "LogFormat") -> None:
    """Send logs to stderr from `level` on; with `debug`, warnings are among them."""
    from oda.telemetry import configure_logging

    configure_logging(level, log_format)
    if debugging():
        warnings.simplefilter("default")
        logging.captureWarnings(True)
    else:
        for name in _LOGS_WHAT_IT_RAISES:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def silence_warnings() -> None:
    """Keep Python's warnings, which are for developers, off the terminal.

    `python -W`, `PYTHONWARNINGS` and the log level `debug` bring them back.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def end_process(code: int) -> NoReturn:
    """End without waiting for threads: a tool that was cancelled may be stuck in one of them."""
    atexit._run_exitfuncs()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def debugging() -> bool:
    """Return whether the log level is `debug`."""
    return logging.getLogger().isEnabledFor(logging.DEBUG)


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    if not message:  # the command was given without anything, and its help has been shown
        return ""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "oda"
    return f"{message} (see `{command} --help`)"


def _tolerate_encodings() -> None:
    """Let a terminal that lacks a character show another one instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
