"""The border between `oda` and the terminal: what may reach it, and how a command ends."""

import logging
import os
import sys
import traceback
import warnings
from typing import NoReturn, TextIO

import typer

from oda.cli.exit_code import ExitCode
from oda.errors import OdaError

_DEBUG = "ODA_LOG_LEVEL=debug"


def run() -> NoReturn:
    """Run the command of `sys.argv` and end the process."""
    from oda.cli.app import app

    silence_warnings()
    tolerate_encodings()
    try:
        code = app(standalone_mode=False) or ExitCode.OK
    except Exception as error:
        code = report(error)
    if code == ExitCode.INTERRUPTED:
        leave_at_once(code)
    sys.exit(code)


def report(error: Exception) -> ExitCode:
    """Say in one line on stderr what went wrong; the traceback only when debugging."""
    if isinstance(error, OdaError):
        text, code = str(error), ExitCode.NOT_STARTED
    elif isinstance(error, typer.TyperException):
        text, code = _usage(error), ExitCode.NOT_STARTED
    else:
        text = f"unexpected {type(error).__name__}: {error} (set {_DEBUG} to see where)"
        code = ExitCode.INTERNAL
    if debugging():
        traceback.print_exception(error)
    print("error:", " ".join(text.split()), file=sys.stderr)
    return code


def silence_warnings() -> None:
    """Keep Python's warnings, which are for developers, off the terminal.

    `python -W`, `PYTHONWARNINGS` and the log level `debug` bring them back.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def set_up_logging(level: str, log_format: str) -> None:
    """Send logs to stderr from `level` on; with `debug`, warnings are among them.

    Raises:
        ConfigurationError: an unknown level or format.
    """
    from oda.telemetry import configure_logging

    os.environ.setdefault("LITELLM_LOG", "ERROR")
    configure_logging(level, log_format)
    if debugging():
        warnings.simplefilter("default")
        logging.captureWarnings(True)


def debugging() -> bool:
    """Whether the log level is `debug`."""
    return logging.getLogger().isEnabledFor(logging.DEBUG)


def tolerate_encodings() -> None:
    """Let a terminal that lacks a character show another one instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIO) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def leave_at_once(code: ExitCode) -> NoReturn:
    """End the process without waiting for threads, in which an interrupted tool may still run."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "oda"
    return f"{error.format_message().rstrip('.')} (see `{command} --help`)"
