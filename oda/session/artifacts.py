"""The artifacts of a session, independent of the service that stores them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENAMETOOLONG
from typing import Any

from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from google.adk.errors.input_validation_error import InputValidationError
from google.genai.types import Blob, Part

from oda.agent.turn_plugin import SessionKey
from oda.errors import ArtifactNotFoundError, ConflictError, InvalidRequestError

ANY_TYPE = "application/octet-stream"
_TEXT = "text/plain; charset=utf-8"
_OF_THE_USER = "user:"
_MAX_NAME_LENGTH = 512
_MAX_SEGMENT_BYTES = 200
_MAX_SEGMENTS = 16
_LAST_VERSION = 2**31 - 1


@dataclass(frozen=True)
class ArtifactInfo:
    """The newest version of an artifact."""

    name: str
    version: int
    mime_type: str
    created_at: float
    """Epoch seconds."""


@dataclass(frozen=True)
class ArtifactContent:
    """One version of an artifact as bytes."""

    version: int
    mime_type: str
    data: bytes


def check_artifact_name(name: str) -> None:
    """Reject a name that has a special meaning in a file system.

    Slashes separate folders. The prefix `user:` shares the artifact between the user's sessions.

    Raises:
        InvalidRequestError: the name is not allowed.
    """
    segments = name.removeprefix(_OF_THE_USER).split("/")
    if not (
        len(name) <= _MAX_NAME_LENGTH
        and name.isprintable()
        and "\\" not in name
        and len(segments) <= _MAX_SEGMENTS
        and all(_is_plain(segment) for segment in segments)
        and segments[-1].casefold() != "metadata.json"
    ):
        raise InvalidRequestError(
            f"The artifact name {name[:_MAX_NAME_LENGTH]!r} is not allowed.",
            remedy="use printable names, with slashes between them only, and no '..'",
        )


def _is_plain(segment: str) -> bool:
    return (
        0 < len(segment.encode()) <= _MAX_SEGMENT_BYTES
        and segment == segment.strip(" ")
        and not segment.endswith(".")
        and segment.casefold() != "versions"
    )


class SessionArtifacts:
    """The artifacts of a session and, under names that begin with `user:`, of its user."""

    def __init__(self, service: BaseArtifactService, key: SessionKey) -> None:
        self._service = service
        app_name, user_id, session_id = key
        self._of_session: dict[str, Any] = {
            "app_name": app_name,
            "user_id": user_id,
            "session_id": session_id,
        }

    async def list(self) -> list[ArtifactInfo]:
        """Return all artifacts, sorted by name."""
        with _convert_refusals():
            keys = await self._service.list_artifact_keys(**self._of_session)
        found: dict[str, ArtifactInfo] = {}
        for key in keys:
            for name in (key, _OF_THE_USER + key):  # some services leave the prefix out
                if info := await self._newest(name):
                    found.setdefault(name, info)
                    break
        return sorted(found.values(), key=lambda info: info.name)

    async def load(self, name: str, version: int | None = None) -> ArtifactContent:
        """Return one version of an artifact, the newest by default.

        Raises:
            ArtifactNotFoundError: there is no such artifact or version.
            InvalidRequestError: the name is not allowed.
            ConflictError: the artifact is a reference to a file stored elsewhere.
        """
        number, part = await self._load_version(name, version)
        if part.inline_data is not None:
            blob = part.inline_data
            return ArtifactContent(number, blob.mime_type or ANY_TYPE, blob.data or b"")
        return ArtifactContent(number, _TEXT, (part.text or "").encode())

    async def load_part(self, name: str, version: int | None = None) -> Part:
        """Return one version of an artifact as an ADK part, the newest by default.

        Raises: as `load`.
        """
        return (await self._load_version(name, version))[1]

    async def save(self, name: str, mime_type: str, data: bytes) -> int:
        """Store a new version and return its number.

        Raises:
            InvalidRequestError: the name is not allowed, or the artifact is empty and untyped.
        """
        return await self.save_part(name, Part(inline_data=Blob(mime_type=mime_type, data=data)))

    async def save_part(
        self, name: str, part: Part, custom_metadata: dict[str, Any] | None = None
    ) -> int:
        """Store a new version, given as an ADK part, and return its number.

        Raises:
            InvalidRequestError: the name is not allowed, or the artifact is empty and untyped, or a
                reference, which could point to another user's data.
        """
        blob = part.inline_data
        if blob is None and part.text is None:
            raise InvalidRequestError("An artifact is text or inlineData.")
        if blob is not None and not blob.data and (blob.mime_type or ANY_TYPE) == ANY_TYPE:
            raise InvalidRequestError(
                "An artifact without content needs a content type.",
                remedy="this is how ADK stores that an artifact was removed",
            )
        return await self._save(name, part, custom_metadata)

    async def versions(self, name: str) -> Sequence[ArtifactVersion]:
        """Return the metadata of all versions of an artifact, oldest first; empty if it is unknown.

        Raises:
            InvalidRequestError: the name is not allowed.
        """
        with _convert_refusals():
            return await self._service.list_artifact_versions(filename=name, **self._of_session)

    async def version(self, name: str, version: int | None = None) -> ArtifactVersion | None:
        """Return the metadata of one version, the newest by default; None if there is none.

        Raises:
            InvalidRequestError: the name is not allowed.
        """
        if version is not None and not 0 <= version <= _LAST_VERSION:
            return None
        with _convert_refusals():
            return await self._service.get_artifact_version(
                filename=name, version=version, **self._of_session
            )

    async def delete(self, name: str) -> None:
        """Delete all versions of an artifact.

        Raises:
            ArtifactNotFoundError: there is no such artifact.
            InvalidRequestError: the name is not allowed.
        """
        if await self._newest(name) is None:
            raise _missing(name, None)
        await self._remove(name)

    async def delete_all(self) -> None:
        """Delete the session's own artifacts; those of the user are kept."""
        try:
            keys = await self._service.list_artifact_keys(**self._of_session)
        except InputValidationError:  # ADK rejects the session id, so nothing can be stored for it
            return
        for name in keys:
            if not name.startswith(_OF_THE_USER):
                await self._remove(name)

    async def copy_to(
        self,
        target: "SessionArtifacts",
        *,
        until: float | None,
        spoken_of: Collection[tuple[str, int]],
    ) -> Mapping[tuple[str, int], int]:
        """Copy the session's own artifacts as they were at a point in time.

        Args:
            target: The artifacts of the session to copy to.
            until: Epoch seconds; None for now.
            spoken_of: Names and versions of older versions to copy as well.

        Returns:
            The version number in `target`, by name and version of the original.
        """
        copies: dict[tuple[str, int], int] = {}
        for name in await self._service.list_artifact_keys(**self._of_session):
            if name.startswith(_OF_THE_USER):
                continue
            versions = await self._service.list_artifact_versions(filename=name, **self._of_session)
            wanted = [version for version in versions if (name, version.version) in spoken_of]
            then = [v for v in versions if until is None or v.create_time <= until]
            current = max([*wanted, *then[-1:]], key=lambda v: v.version, default=None)
            if current is None or await self._part(name, current.version) is None:
                continue
            for version in sorted({v.version for v in (*wanted, current)}):
                if part := await self._part(name, version):
                    copies[name, version] = await target._save(name, part)
        return copies

    # --- inside

    async def _newest(self, name: str) -> ArtifactInfo | None:
        """Return the newest version, or None if there is none or a rewind removed it."""
        version = await self.version(name)
        if version is None:
            return None
        mime_type = version.mime_type or _TEXT
        # A rewind adds a version without content, which cannot be loaded.
        if mime_type == ANY_TYPE and await self._part(name, version.version) is None:
            return None
        return ArtifactInfo(name, version.version, mime_type, version.create_time)

    async def _load_version(self, name: str, version: int | None) -> tuple[int, Part]:
        """Return the number and content of a version; the content is bytes or text."""
        info = await self.version(name, version)
        part = await self._part(name, info.version) if info else None
        if info is None or part is None:
            raise _missing(name, version)
        if part.inline_data is None and part.text is None:
            raise ConflictError(f"The artifact {name!r} is a reference to a file elsewhere.")
        return info.version, part

    async def _part(self, name: str, version: int) -> Part | None:
        with _convert_refusals():
            return await self._service.load_artifact(
                filename=name, version=version, **self._of_session
            )

    async def _save(
        self, name: str, part: Part, custom_metadata: dict[str, Any] | None = None
    ) -> int:
        with _convert_refusals():
            return await self._service.save_artifact(
                filename=name, artifact=part, custom_metadata=custom_metadata, **self._of_session
            )

    async def _remove(self, name: str) -> None:
        with _convert_refusals():
            await self._service.delete_artifact(filename=name, **self._of_session)


@contextmanager
def _convert_refusals() -> Iterator[None]:
    """Convert refusals of the artifact service to `InvalidRequestError`."""
    try:
        yield
    except (InputValidationError, OSError) as error:
        if isinstance(error, OSError) and error.errno != ENAMETOOLONG:
            raise
        # ADK's own message may contain paths.
        raise InvalidRequestError(
            "An artifact cannot have this name, or cannot be in this session."
        ) from error


def _missing(name: str, version: int | None) -> ArtifactNotFoundError:
    numbered = "" if version is None else f" in version {version}"
    return ArtifactNotFoundError(f"There is no artifact {name!r}{numbered}.")


def references(deltas: Collection[Mapping[str, Any]]) -> frozenset[tuple[str, int]]:
    """Return the names and versions that artifact deltas mention."""
    return frozenset((name, int(version)) for delta in deltas for name, version in delta.items())
