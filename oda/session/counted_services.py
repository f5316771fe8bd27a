"""Wrappers of ADK's services that count stored data towards its user's quota."""

import asyncio
import uuid
from typing import Any

from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService
from google.genai.types import Part

from oda.agent.turn_plugin import SessionKey
from oda.session.passing_on import PassingOn
from oda.session.state import visible
from oda.session.user_storage import UserStorage, item_of, json_size

_OF_THE_USER = "user:"


class CountedSessions(PassingOn):
    """Counts a session when it is created and releases all its storage when it is deleted.

    Later messages and state changes are counted by their callers, before they reach this service.
    """

    def __init__(self, behind: BaseSessionService, storage: UserStorage) -> None:
        super().__init__(behind)
        self._storage = storage

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session.

        Raises:
            StorageQuotaError: there is no room for it.
        """
        session_id = session_id or uuid.uuid4().hex
        key, size = (app_name, user_id, session_id), json_size(visible(state or {}))
        is_new = await self._storage.open_session(key, size)
        try:
            return await super().create_session(
                app_name=app_name, user_id=user_id, state=state, session_id=session_id
            )
        except BaseException:
            if is_new:
                await self._storage.forget(key)
            else:
                await self._storage.give_back(key, size)
            raise

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self._storage.forget((app_name, user_id, session_id))
        await super().delete_session(app_name=app_name, user_id=user_id, session_id=session_id)


class CountedArtifacts(BaseArtifactService):
    """Counts each version of an artifact.

    Args:
        bounded: Whether a version that exceeds the quota is refused. If not, it is stored and
            counted, and later bounded writes are refused.
    """

    def __init__(self, behind: BaseArtifactService, storage: UserStorage, *, bounded: bool) -> None:
        self._behind = behind
        self._storage = storage
        self._bounded = bounded

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
        """Store a new version.

        Raises:
            StorageQuotaError: there is no room for it.
        """
        part = ensure_part(artifact)
        size = await asyncio.to_thread(_size_of, part, custom_metadata)
        key = _key(app_name, user_id, session_id, filename)
        # Counted under a temporary item until it is stored, so that a concurrent deletion of the
        # artifact does not release the bytes of this version.
        arriving = uuid.uuid4().hex
        await self._storage.take(key, size, arriving, bounded=self._bounded)
        try:
            version = await self._behind.save_artifact(
                app_name=app_name,
                user_id=user_id,
                filename=filename,
                artifact=part,
                session_id=session_id,
                custom_metadata=custom_metadata,
            )
        except Exception:  # not on cancellation: the version may still be stored
            await self._storage.forget(key, arriving)
            raise
        await self._storage.move(key, arriving, item_of(filename))
        return version

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        await self._behind.delete_artifact(
            app_name=app_name, user_id=user_id, filename=filename, session_id=session_id
        )
        key = _key(app_name, user_id, session_id, filename)
        await self._storage.forget(key, item_of(filename))

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        return await self._behind.load_artifact(
            app_name=app_name,
            user_id=user_id,
            filename=filename,
            session_id=session_id,
            version=version,
        )

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        return await self._behind.list_artifact_keys(
            app_name=app_name, user_id=user_id, session_id=session_id
        )

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        return await self._behind.list_versions(
            app_name=app_name, user_id=user_id, filename=filename, session_id=session_id
        )

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        return await self._behind.list_artifact_versions(
            app_name=app_name, user_id=user_id, filename=filename, session_id=session_id
        )

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        return await self._behind.get_artifact_version(
            app_name=app_name,
            user_id=user_id,
            filename=filename,
            session_id=session_id,
            version=version,
        )


def _key(app_name: str, user_id: str, session_id: str | None, filename: str) -> SessionKey:
    """Return the key of the session that owns an artifact; its session id is empty for a user's."""
    is_users = session_id is None or filename.startswith(_OF_THE_USER)
    return app_name, user_id, "" if is_users else session_id or ""


def _size_of(part: Part, custom_metadata: dict[str, Any] | None) -> int:
    blob, text = part.inline_data, part.text
    content = (blob.data or b"") if blob else (text or "").encode(errors="replace")
    return len(content) + json_size(custom_metadata or {})
