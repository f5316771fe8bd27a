"""Files of the conversation: its artifacts, under names that a file system takes, and links."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from google.adk.agents.callback_context import CallbackContext
from google.genai.types import Blob, Content, Part

from mcp_tools.resume import JsonObject, Resume
from mcp_tools.resume.errors import NoSuchFileError
from oda.workspace.media_types import suffix_of

_NOT_IN_A_FILE_NAME = re.compile(r'[\\/:*?"<>|%\x00-\x1f\x7f]+')
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that was kept: what `/save` and the artifact's route find it by."""

    name: str
    link: str
    media_type: str
    size: int

    def to_json(self) -> JsonObject:
        """The file as a tool tells of it."""
        return {
            "name": self.name,
            "link": self.link,
            "media_type": self.media_type,
            "size": self.size,
        }


def file_name(resume: Resume, what: str, suffix: str) -> str:
    """Name a file after what it is and whose: "resume-Jane Doe.pdf"."""
    person = (resume.basics and resume.basics.name) or ""
    printable = "".join(sign for sign in person if sign.isprintable())
    fit = _NOT_IN_A_FILE_NAME.sub("_", printable)[:_LONGEST_NAME].strip(" .")
    return f"{what}-{fit}{suffix}" if fit else f"{what}{suffix}"


async def keep_file(
    context: CallbackContext, name: str, content: bytes, media_type: str
) -> KeptFile:
    """Keep a file as the newest version of an artifact of the session.

    Raises:
        ValueError: there is no artifact service.
    """
    blob = Blob(data=content, mime_type=media_type, display_name=name)
    version = await context.save_artifact(name, Part(inline_data=blob))
    session = context.session
    place = f"/v1/apps/{quote(session.app_name)}/sessions/{quote(session.id)}/artifacts"
    link = f"{place}/{quote(name)}?version={version}"
    return KeptFile(name, link, media_type, len(content))


def plain_name(given: str) -> str:
    """Return the last part of a client's file name, without what no file system takes."""
    name = PurePosixPath(given.replace("\\", "/")).name
    return _NOT_IN_A_FILE_NAME.sub("_", name).strip(" .")


async def attached(context: CallbackContext, name: str) -> bytes:
    """Return the content of a file of the conversation.

    Raises:
        NoSuchFileError: there is none of that name.
    """
    part = await context.load_artifact(name) if name in await files_of(context) else None
    if part is None:
        known = ", ".join(await files_of(context)) or "-"
        raise NoSuchFileError(name=name, known=known)
    if part.inline_data is not None:
        return part.inline_data.data or b""
    return (part.text or "").encode()


async def files_of(context: CallbackContext) -> list[str]:
    """Return the names of the conversation's files; none where none are kept."""
    try:
        return await context.list_artifacts()
    except ValueError:  # an agent that is run without a service for artifacts
        return []


async def keep_attachments(context: CallbackContext) -> list[str]:
    """Keep the files that came with the message under their names, and return these."""
    parts = (context.user_content and context.user_content.parts) or []
    names = []
    for number, part in enumerate(parts, start=1):
        blob = part.inline_data
        if blob is None or not blob.data:
            continue
        suffix = suffix_of(blob.mime_type or "")
        name = plain_name(blob.display_name or "") or f"attachment-{number}{suffix}"
        media_type = blob.mime_type or "application/octet-stream"
        await keep_file(context, name, blob.data, media_type)
        names.append(name)
    return names


def without_files(content: Content) -> Content:
    """Return a message with the names of its files in their place: models read them by a tool."""
    parts = content.parts or []
    if not any(part.inline_data for part in parts):
        return content
    told = [
        Part(text=f"[attached: {part.inline_data.display_name or 'a file'}]")
        if part.inline_data
        else part
        for part in parts
    ]
    return content.model_copy(update={"parts": told})
