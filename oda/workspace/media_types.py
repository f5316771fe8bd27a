"""Media types by file name and vice versa, independent of the system."""

from mimetypes import MimeTypes
from pathlib import PurePosixPath

UNKNOWN = "application/octet-stream"

_OFFICE = "application/vnd.openxmlformats-officedocument"
_ALSO = {
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
    ".webp": "image/webp",
    ".m4a": "audio/mp4",
}
_TYPES = MimeTypes()
for _suffix, _type in _ALSO.items():
    _TYPES.add_type(_type, _suffix)


def media_type(path: str) -> str:
    """Return the media type for a file name."""
    return _TYPES.types_map[True].get(PurePosixPath(path).suffix.lower(), UNKNOWN)


def suffix_of(media_type: str) -> str:
    """Return the suffix of a media type, with its dot; empty if the type is unknown."""
    return _TYPES.guess_extension(media_type.partition(";")[0].strip()) or ""
