"""The answer of a program that read a document in a sandbox: a JSON object in its last line."""

import json

from oda.errors import WorkspaceError
from oda.workspace.sandbox.sandbox import RunResult

_REFUSALS = {
    "empty": ("has nothing in it", "use another file"),
    "encrypted": (
        "is protected by a password",
        "ask for a copy without a password, or for the text itself",
    ),
    "old_office": (
        "is in the old Office format",
        "ask for it in .docx, .xlsx, .pptx or .pdf",
    ),
    "broken": (
        "is damaged or incomplete and cannot be read",
        "ask for it again, or look at it with run_python",
    ),
    "too_large": (
        "unpacks to more than can be read",
        "ask for a smaller file, or read parts of it with run_python",
    ),
    "unsafe": (
        "declares XML entities, which no Office program writes; it is not opened",
        "ask for a file saved anew by Word, Excel or PowerPoint",
    ),
}


def answer_of(path: str, result: RunResult) -> dict[str, object]:
    """The answer of a program that was to read `path`.

    Raises:
        WorkspaceError: the file is encrypted, damaged, too large, or not what its name says.
    """
    if result.ending != "exited":
        raise _refusal(path, "too_large", "")
    line = result.stdout.strip().rpartition("\n")[2]
    try:
        answer = json.loads(line)
    except ValueError:
        raise _refusal(path, "too_large" if result.exit_code else "broken", "") from None
    if not isinstance(answer, dict) or "error" in answer:
        answer = answer if isinstance(answer, dict) else {}
        raise _refusal(path, str(answer.get("error")), str(answer.get("found", "")))
    return answer


def _refusal(path: str, code: str, found: str) -> WorkspaceError:
    if code == "mislabelled":
        what = {"text": "plain text", "": "no such document", "binary": "no document"}
        shown = what.get(found, f"a .{found} file")
        remedy = f"if so, copy it to a name that ends in .{found}" if found not in what else None
        return WorkspaceError(f"{path!r} is {shown} by its content.", remedy=remedy)
    if code == "missing":
        return WorkspaceError(
            f"{path!r} cannot be read: the sandbox has no {found or 'library'} for it.",
            remedy="install oda[researcher] in the sandbox's Python",
        )
    fault, remedy = _REFUSALS.get(code, _REFUSALS["broken"])
    return WorkspaceError(f"{path!r} {fault}.", remedy=remedy)
