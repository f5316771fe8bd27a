"""Wishes for a whole task that rules can carry out: an import, a comparison with a job. Pure."""

import re
from collections.abc import Sequence

from mcp_tools.resume.fit import job_in

from .dialogue.decision import ToolCall

_IMPORT = re.compile(
    r"导入|这(?:份|个|就)?是我的简历|用这(?:份|个)(?:文件|简历)"
    r"|\b(?:import|load)\b|\b(?:this|here) is my (?:resume|cv)\b"
    r"|\buse (?:this|it) as my (?:resume|cv)\b",
    re.IGNORECASE,
)
_JOB = re.compile(
    r"职位|岗位|招聘|\bjd\b|\bjob (?:description|ad|posting)\b|\b(?:position|vacancy)\b",
    re.IGNORECASE,
)


def task_of(text: str, came: Sequence[str], files: Sequence[str]) -> ToolCall | None:
    """Return the call that a message asks for, None if it is about something else.

    Args:
        came: The files that came with the message.
        files: All files of the conversation.
    """
    named = [*came, *(name for name in files if name in text and name not in came)]
    if named and (not text or _IMPORT.search(text)):
        return ToolCall(name="CVImport", params={"name": named[0]})
    if named and _JOB.search(text):
        return ToolCall(name="CVFit", params={"file": named[0]})
    return ToolCall(name="CVFit", params={}) if job_in(text)[1] else None
