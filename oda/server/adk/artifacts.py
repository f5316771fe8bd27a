"""Artifacts for ADK's routes and dev tools, under the rules of `/v1`."""

from contextlib import suppress
from typing import Any
from urllib.parse import quote

from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.genai.types import Part

from oda.context import OdaContext
from oda.errors import ArtifactNotFoundError, InvalidRequestError
from oda.server.adk.access import check_user
from oda.server.downloads import is_media_type
from oda.session.artifacts import SessionArtifacts, check_artifact_name


class AdkArtifacts(BaseArtifactService):
    """The artifacts of the calling user's sessions; for an admin, those of all users."""

    def __init__(self, oda: OdaContext) -> None:
        self._oda = oda

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        artifacts = await self._of(app_name, user_id, session_id, filename)
        part = ensure_part(artifact)
        if part.inline_data is not None and not is_media_type(part.inline_data.mime_type or ""):
            raise InvalidRequestError("inlineData.mimeType: must be a media type.")
        return await artifacts.save_part(filename, part, custom_metadata)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        artifacts = await self._of(app_name, user_id, session_id, filename)
        with suppress(ArtifactNotFoundError):
            return await artifacts.load_part(filename, version)
        return None

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        artifacts = await self._of(app_name, user_id, session_id)
        return [artifact.name for artifact in await artifacts.list()]

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete an artifact; ADK does not regard a missing one as an error."""
        artifacts = await self._of(app_name, user_id, session_id, filename)
        with suppress(ArtifactNotFoundError):
            await artifacts.delete(filename)

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        artifacts = await self._of(app_name, user_id, session_id, filename)
        return [version.version for version in await artifacts.versions(filename)]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        artifacts = await self._of(app_name, user_id, session_id, filename)
        found = await artifacts.versions(filename)
        here = f"{_path(app_name, user_id, session_id)}/{quote(filename)}"
        return [_with_address(version, here) for version in found]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        artifacts = await self._of(app_name, user_id, session_id, filename)
        found = await artifacts.version(filename, version)
        here = f"{_path(app_name, user_id, session_id)}/{quote(filename)}"
        return _with_address(found, here) if found else None

    async def _of(
        self, app_name: str, user_id: str, session_id: str | None, name: str | None = None
    ) -> SessionArtifacts:
        """Return the artifacts of a session.

        Raises:
            SessionNotFoundError: the session does not exist or belongs to another user.
            InvalidRequestError: the session id is missing, or the name is not allowed.
        """
        check_user(user_id)
        if session_id is None:
            raise InvalidRequestError("Artifacts are asked of a session.")
        if name is not None:
            check_artifact_name(name)
        return (await self._oda.sessions.get(app_name, user_id, session_id)).artifacts


def _path(app_name: str, user_id: str, session_id: str | None) -> str:
    app, user, session = (quote(name or "", safe="") for name in (app_name, user_id, session_id))
    return f"/apps/{app}/users/{user}/sessions/{session}/artifacts"


def _with_address(version: ArtifactVersion, path: str) -> ArtifactVersion:
    """Return the version with its address on this server instead of that in its store."""
    return version.model_copy(update={"canonical_uri": f"{path}/versions/{version.version}"})
