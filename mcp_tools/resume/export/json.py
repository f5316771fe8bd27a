"""The resume as JSON: the document itself, in the order in which JSON Resume lists its fields."""

from json import dumps

from mcp_tools.resume.document import Resume


def to_json(resume: Resume) -> bytes:
    """Write the document; `load_resume` reads an equal one from it."""
    text = dumps(resume.to_json(), ensure_ascii=False, indent=2)
    return f"{text}\n".encode("utf-8", "backslashreplace")
