"""The files of a session: list, download, upload, delete."""

import hashlib
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response

from oda.errors import InvalidRequestError
from oda.server.access import Context, User
from oda.server.downloads import download_headers, is_media_type, safe_media_type
from oda.server.openapi import LARGE_BODY, Responses, problems, sends
from oda.server.v1.paths import AppName, SessionId
from oda.server.v1.wire import ArtifactList, ArtifactResource, StoredArtifact
from oda.session.artifacts import ANY_TYPE, check_artifact_name

router = APIRouter(prefix="/apps/{app}/sessions/{sid}/artifacts", tags=["artifacts"])

Name = Annotated[
    str,
    Path(
        max_length=512,
        json_schema_extra={"format": "artifact-name"},
        description="May have slashes; `user:` in front makes it one of all the user's sessions.",
    ),
]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_FILE = {"content": {"application/octet-stream": _BYTES, "*/*": _BYTES}}
"""Client generators need a specific type; `*/*` is what the server returns."""
_BODY = {
    "requestBody": {
        "description": "The file; its content type, which may be any, is kept",
        "content": {"application/octet-stream": _BYTES},
        "required": True,
    },
    **LARGE_BODY,
}
_STORED: Responses = {201: sends("ETag", "Location"), **problems(404)}
_MAX_VERSION = 2**31 - 1


@router.get("", responses=problems(404))
async def list_artifacts(app: AppName, sid: SessionId, oda: Context, user: User) -> ArtifactList:
    """The newest versions, by name; those of the user's as well."""
    session = await oda.sessions.current(app, user, sid)
    return ArtifactList(
        artifacts=[
            ArtifactResource(
                name=info.name,
                version=info.version,
                mime_type=info.mime_type,
                created_at=datetime.fromtimestamp(info.created_at, UTC),
            )
            for info in await session.artifacts.list()
        ]
    )


@router.get(
    "/{name:path}",
    response_class=Response,
    responses={
        200: {
            **_FILE,
            **sends("ETag"),
            "description": "The file, to be saved, never to be shown",
        },
        **problems(404, 409),
    },
)
async def download_artifact(
    app: AppName,
    sid: SessionId,
    name: Name,
    oda: Context,
    user: User,
    version: Annotated[int | None, Query(ge=0, le=_MAX_VERSION)] = None,
) -> Response:
    """The bytes of one version, the newest by default."""
    session = await oda.sessions.current(app, user, sid)
    check_artifact_name(name)
    found = await session.artifacts.load(name, version)
    return Response(
        found.data,
        headers={
            **download_headers(name),
            "Content-Type": safe_media_type(found.mime_type),
            "ETag": _tag(found.data),
        },
    )


@router.put("/{name:path}", status_code=201, openapi_extra=_BODY, responses=_STORED)
@router.post(
    "/{name:path}",
    status_code=201,
    openapi_extra=_BODY,
    responses=_STORED,
    operation_id="upload_artifact_by_post",
)
async def upload_artifact(
    app: AppName,
    sid: SessionId,
    name: Name,
    oda: Context,
    user: User,
    request: Request,
    response: Response,
) -> StoredArtifact:
    """Store the body, of any content type, as the newest version.

    A rewind leaves uploads as they are.
    """
    session = await oda.sessions.current(app, user, sid)
    check_artifact_name(name)
    content_type = request.headers.get("content-type", ANY_TYPE)
    if not is_media_type(content_type):
        raise InvalidRequestError("Content-Type: must be a media type.")
    data = await request.body()
    version = await session.artifacts.save(name, content_type, data)
    here = f"/v1/apps/{quote(app)}/sessions/{quote(sid)}/artifacts/{quote(name)}"
    response.headers["Location"] = f"{here}?version={version}"
    response.headers["ETag"] = _tag(data)
    return StoredArtifact(name=name, version=version, mime_type=content_type, size=len(data))


@router.delete("/{name:path}", status_code=204, responses=problems(404))
async def delete_artifact(
    app: AppName, sid: SessionId, name: Name, oda: Context, user: User
) -> None:
    """Remove all versions."""
    session = await oda.sessions.current(app, user, sid)
    check_artifact_name(name)
    await session.artifacts.delete(name)


def _tag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'
