"""`/api/workspaces/{run_id}/files`: files of a run, for the user who has started it."""

import asyncio
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict
from starlette.types import Receive, Scope, Send

from oda.errors import NotFoundError, PathRefusedError, WorkspaceError
from oda.server.access import Context, User
from oda.server.downloads import download_headers
from oda.server.openapi import Bearer, problems
from oda.workspace.media_types import media_type
from oda.workspace.workspace import FileInfo, Workspace

router = APIRouter(
    prefix="/api/workspaces",
    tags=["workspaces"],
    dependencies=[Depends(Bearer())],
    responses=problems(401, 422, 503),
)

_CHUNK = 2**18
_FILE: dict[str, Any] = {
    "description": "The files as JSON, or the bytes of the one that is named",
    "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
}


class WorkspaceFile(BaseModel):
    """A file of a run."""

    model_config = ConfigDict(frozen=True)

    path: str
    """In the workspace: `output/article.html`."""
    bytes: int
    modified_at: datetime

    @classmethod
    def of(cls, info: FileInfo) -> "WorkspaceFile":
        modified_at = datetime.fromtimestamp(info.modified_at, UTC)
        return cls(path=info.path, bytes=info.bytes, modified_at=modified_at)


class WorkspaceFiles(BaseModel):
    """The files of a run, by their paths."""

    run_id: str
    files: list[WorkspaceFile]


@router.get(
    "/{run_id}/files",
    response_model=WorkspaceFiles,
    responses={200: _FILE, **problems(404)},
)
async def get_workspace_files(
    run_id: Annotated[str, Path(max_length=128, description="Id of the turn that is the run")],
    oda: Context,
    user: User,
    path: Annotated[str, Query(max_length=1024, description="A file, or a folder")] = "",
) -> Response:
    """List what a run has in a folder, by default all; or download a file of it."""
    turn = await oda.turns.get(run_id, user)
    workspace = await oda.workspaces.find(turn.session_id, run_id)
    if workspace is None:
        if path:
            raise _not_found(run_id, path)
        return _listed(run_id, [])
    async with workspace:
        if path and (found := await workspace.find(path)) is not None:
            return _Download(await asyncio.to_thread(_opened, workspace, path), found.path)
        try:
            return _listed(run_id, await workspace.list(path))
        except PathRefusedError:
            raise
        except WorkspaceError as error:
            raise _not_found(run_id, path) from error


class _Download(StreamingResponse):
    """Sends a file as it is when it is opened, and closes it whatever happens."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        size = os.fstat(file.fileno()).st_size
        headers = {**download_headers(path), "Content-Length": str(size)}
        super().__init__(_chunks(file, size), headers=headers)
        self.headers["Content-Type"] = media_type(path)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _opened(workspace: Workspace, path: str) -> BinaryIO:
    return os.fdopen(workspace.root.open_file(path), "rb", buffering=0)


def _chunks(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size and (chunk := file.read(min(size, _CHUNK))):
        size -= len(chunk)
        yield chunk


def _listed(run_id: str, files: list[FileInfo]) -> Response:
    listed = WorkspaceFiles(run_id=run_id, files=[WorkspaceFile.of(info) for info in files])
    return Response(listed.model_dump_json(), media_type="application/json")


def _not_found(run_id: str, path: str) -> NotFoundError:
    return NotFoundError(
        f"The run {run_id!r} has no file or folder {path!r}.",
        remedy="ask without a path for what there is",
    )
