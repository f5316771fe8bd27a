"""Make an internal error text fit for a client: one short line, no secret, no path."""

import re

MAX_LENGTH = 500

_SECRETS = re.compile(
    r"""
      (?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}
    | (?P<name>["']?(?:api[_-]?key|x-api-key|authorization|token|secret|password|passwd|pwd)["']?
        \s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"',;&]{4,}
    | (?-i:\b(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|gsk|hf|xai|xox[abpr]|oda)[-_]
        (?=[A-Za-z_*-]*[0-9*])[A-Za-z0-9*_-]{8,})
    | (?-i:\b(?:AIza|AKIA)[A-Za-z0-9_-]{8,})
    | (?-i:\beyJ[\w-]+\.[\w-]+\.[\w-]*)
    | (?P<url>\b[a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]+(?=@)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PATHS = re.compile(
    r"(?<![\w/.])(?:file://|~)?(?:/[\w.@+-]+){2,}/?|~/[\w.@+-]+|(?<!\w)[A-Za-z]:\\[^\s\"']+"
)


def redact(text: str) -> str:
    """Return the first line of `text` without secrets and file paths, at most 500 characters."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    line = _SECRETS.sub(_hide, line)
    line = _PATHS.sub("<path>", line)
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 1] + "…"


def _hide(match: re.Match[str]) -> str:
    kept = match["scheme"] or match["name"] or match["url"] or ""
    return f"{kept}***"
