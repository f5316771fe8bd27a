"""Make an internal error text fit for a client: one short line, no secret, no path."""

import re

from oda.secret_mask import secrets

MAX_LENGTH = 500

_LOOKED_AT = 2000
"""Characters of a line that are looked at; the rest would not be shown."""

_SECRETS = re.compile(
    r"""
      (?P<kept>
          (?:\b|_)(?:bearer|basic)\s+
        | ["']?(?:api[ _-]?key|authorization|token(?!s)|secret|password|passwd|pwd)(?:[_-]\w+)*["']?
          (?:\s+provided)?\s*[:=]\s*(?:(?:bearer|basic|token|digest)\s+)?
        | --[\w-]*(?:api-?key|token|secret|password)\s+
        | \b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]*:(?=[^\s/]*@)
      )
      (?: (?<=:)[^\s/]+(?=@) | "[^"]+" | '[^']+' | ["']?[^\s"',;&]{4,} )
    | (?-i:\b(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|gsk|hf|xai|xox[abpr]|oda)[-_]
        (?=[A-Za-z_*-]*[0-9*])[A-Za-z0-9*_-]{8,})
    | (?-i:\b(?:AIza|AKIA)[A-Za-z0-9_-]{8,})
    | (?-i:\beyJ[\w-]+\.[\w-]+\.[\w-]*)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PATHS = re.compile(
    r"""
      (?<=')(?:~|file://)?(?:/[^'/]+){2,}/?(?=')
    | (?<=")(?:~|file://)?(?:/[^"/]+){2,}/?(?=")
    | (?<=')[A-Za-z]:\\[^']+(?=')
    | (?<=")[A-Za-z]:\\[^"]+(?=")
    | (?<![\w/.])(?:~|file://)?(?:/[\w.@+-]+){2,}/?
    | ~/[\w.@+-]+
    | (?<!\w)[A-Za-z]:\\[^\s"']+
    """,
    re.VERBOSE,
)


def redact(text: str) -> str:
    """Return the first line of `text` without secrets and file paths, at most 500 characters."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    line = secrets.mask(line)
    line = _SECRETS.sub(lambda match: f"{match['kept'] or ''}***", line[:_LOOKED_AT])
    line = _PATHS.sub("<path>", line)
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 1] + "…"
