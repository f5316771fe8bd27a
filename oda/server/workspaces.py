"""`/api/workspaces/{run_id}/files`: what a run has left, for the user who has asked for it."""

from datetime import UTC, datetime
from mimetypes import guess_type
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict

from oda.errors import NotFoundError
from oda.server.access import Context, User
from oda.server.downloads import download_headers
from oda.server.openapi import Bearer, problems
from oda.session.artifacts import ANY_TYPE
from oda.workspace.workspace import FileInfo, Workspace

router = APIRouter(
    prefix="/api/workspaces",
    tags=["workspaces"],
    dependencies=[Depends(Bearer())],
    responses=problems(401, 422, 503),
)

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
async def workspace_files(
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
            raise NotFoundError(f"The run {run_id!r} has left no file.")
        return _listed(run_id, [])
    async with workspace:
        if path and await workspace.find(path) is not None:
            return await _download(workspace, path)
        return _listed(run_id, await workspace.list(path))


async def _download(workspace: Workspace, path: str) -> Response:
    headers = {**download_headers(path), "Content-Type": guess_type(path)[0] or ANY_TYPE}
    return Response(await workspace.read(path), headers=headers)


def _listed(run_id: str, files: list[FileInfo]) -> Response:
    listed = WorkspaceFiles(run_id=run_id, files=[WorkspaceFile.of(info) for info in files])
    return Response(listed.model_dump_json(), media_type="application/json")
