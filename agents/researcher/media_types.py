"""Media types of the files of an article, the same on every machine.

Pages and drawings that are not ours have no type of their own: browsers run what is in them.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath

HTML = "text/html; charset=utf-8"
SVG = "image/svg+xml"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_UNKNOWN = "application/octet-stream"

_TYPES: Mapping[str, str] = {
    ".csv": "text/csv; charset=utf-8",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptx": PPTX,
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".zip": "application/zip",
}


def media_type(name: str) -> str:
    """The type of a file that a run has left, by its name."""
    return _TYPES.get(PurePosixPath(name).suffix.lower(), _UNKNOWN)
