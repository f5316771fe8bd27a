"""`oda doctor`: is everything as it must be?"""

import asyncio
import json
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oda.cli.checks import Finding, examine, failed
from oda.cli.exit_code import ExitCode
from oda.cli.narration import one_line
from oda.cli.terminal import load_settings
from oda.errors import ConfigurationError

_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(*, agents_dir: Path | None, as_json: bool) -> ExitCode:
    """Print each finding when it is made, or all of them as one JSON object."""
    findings = asyncio.run(_examine(agents_dir, console=None if as_json else Console()))
    healthy = all(finding.status != "fail" for finding in findings)
    if as_json:
        print(json.dumps({"ok": healthy, "checks": [asdict(finding) for finding in findings]}))
    return ExitCode.OK if healthy else ExitCode.FAILED


async def _examine(agents_dir: Path | None, *, console: Console | None) -> list[Finding]:
    findings: list[Finding] = []

    def take(finding: Finding) -> None:
        findings.append(finding)
        if console is not None:
            console.print(_line(finding), soft_wrap=True)

    try:
        settings = load_settings(agents_dir=agents_dir)
    except ConfigurationError as error:
        take(failed("settings", error))
        return findings
    async with aclosing(examine(settings)) as checks:
        async for finding in checks:
            take(finding)
    return findings


def _line(finding: Finding) -> Text:
    line = Text.assemble(
        (f"{finding.status:<4}", _STYLES[finding.status]),
        f"  {finding.check}: {one_line(finding.detail)}",
    )
    if finding.remedy:
        line.append(f" ({finding.remedy})", style="dim")
    return line
