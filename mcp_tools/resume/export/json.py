"""The resume as JSON that conforms to the official JSON Resume schema."""

from json import dumps

from mcp_tools.resume.document import Resume
from mcp_tools.resume.standard import conforming


def to_json(resume: Resume) -> bytes:
    """Write the document; `load_resume` reads an equal one from it."""
    text = dumps(conforming(resume), ensure_ascii=False, indent=2)
    return f"{text}\n".encode("utf-8", "backslashreplace")
