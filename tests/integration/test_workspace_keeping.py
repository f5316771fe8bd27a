"""Files that a message brings, and files that are kept as artifacts when a run has ended."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.artifacts import FileArtifactService, InMemoryArtifactService
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.sessions import InMemorySessionService
from google.genai.types import Blob, Part

from oda.errors import QuotaExceededError
from oda.session.artifacts import check_artifact_name
from oda.settings import WorkspaceSettings
from oda.testing import FakeClock
from oda.workspace.keeping import keep_outputs, take_uploads, upload_name
from oda.workspace.relative_path import names_of
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces
from tests.support.hostile_paths import HOSTILE_PATHS, SECRET

PNG = b"\x89PNG\0"


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    settings = WorkspaceSettings(quota_bytes=2**20)
    workspaces = Workspaces(tmp_path / "workspaces", settings, FakeClock())
    async with await workspaces.open("session", "run") as opened:
        yield opened


@pytest.fixture(params=["memory", "files"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> BaseArtifactService:
    if request.param == "memory":
        return InMemoryArtifactService()
    return FileArtifactService(tmp_path / "artifacts")


@pytest.fixture
async def context(artifacts: BaseArtifactService) -> CallbackContext:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    return CallbackContext(
        InvocationContext(
            session_service=sessions,
            artifact_service=artifacts,
            invocation_id="run",
            agent=LlmAgent(name="worker"),
            session=session,
        )
    )


async def saved(context: CallbackContext) -> Mapping[str, tuple[int, str | None]]:
    """Version and type of each artifact."""
    found = {}
    for name in await context.list_artifacts():
        version = await context.get_artifact_version(name)
        assert version is not None
        found[name] = (version.version, version.mime_type)
    return found


async def test_outputs_become_artifacts_and_are_not_saved_twice(
    workspace: Workspace, context: CallbackContext
) -> None:
    await workspace.write("data/no.txt", b"not asked for")
    await workspace.write("output/图/a.png", PNG)
    await workspace.write("output/article.html", b"<p>one</p>")

    kept = await keep_outputs(workspace, context)
    assert (kept.names, kept.left_out) == (("article.html", "图/a.png"), ())
    first = await saved(context)
    assert first == {"article.html": (0, "text/html"), "图/a.png": (0, "image/png")}
    await keep_outputs(workspace, context)
    assert await saved(context) == first

    await workspace.write("output/article.html", b"<p>two</p>")
    await keep_outputs(workspace, context)
    assert await saved(context) == {**first, "article.html": (1, "text/html")}
    part = await context.load_artifact("article.html")
    assert part is not None


async def test_what_cannot_be_kept_is_told(
    workspace: Workspace, context: CallbackContext, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_bytes(SECRET)
    for name in ("empty", "user:mine", "versions/a", "x/metadata.json"):
        await workspace.write(f"output/{name}", b"" if name == "empty" else b"x")
    for name in ("a", "b", "c", "d"):
        await workspace.write(f"output/{name}.bin", bytes(10))
    await workspace.write("output/b.bin", bytes(50))
    (workspace.path / "output" / "link").symlink_to(tmp_path / "secret.txt")

    kept = await keep_outputs(workspace, context, max_files=2, max_bytes=40)

    assert kept.names == ("a.bin", "c.bin")
    assert {one.path: one.reason for one in kept.left_out} == {
        "output/b.bin": "more than 40 bytes in all",
        "output/d.bin": "more than 2 files",
        "output/empty": "more than 2 files",
        "output/user:mine": "more than 2 files",
        "output/versions/a": "more than 2 files",
        "output/x/metadata.json": "more than 2 files",
    }
    kept = await keep_outputs(workspace, context)
    assert [one.path.removeprefix("output/") for one in kept.left_out] == [
        "empty",
        "user:mine",
        "versions/a",
        "x/metadata.json",
    ]
    for name in kept.names:
        check_artifact_name(name)
    assert set(await saved(context)) == set(kept.names)


def upload(name: str | None, data: bytes, mime_type: str = "text/csv") -> Part:
    return Part(inline_data=Blob(data=data, mime_type=mime_type, display_name=name))


async def test_uploads_get_names_of_their_own(workspace: Workspace) -> None:
    parts = [
        Part(text="look at these"),
        upload("数据.csv", b"1"),
        upload("数据.csv", b"2"),
        upload("数据.csv", b"1"),
        upload(None, PNG, "image/png"),
        upload("table", b"3", "text/csv; charset=utf-8"),
    ]

    paths = await take_uploads(workspace, parts)
    again = await take_uploads(workspace, parts)

    assert paths == [
        "input/数据.csv",
        "input/数据-2.csv",
        "input/数据.csv",
        "input/upload.png",
        "input/table.csv",
    ]
    assert again == paths
    assert await workspace.read("input/数据-2.csv") == b"2"


@pytest.mark.parametrize("name", HOSTILE_PATHS, ids=ascii)
async def test_an_upload_with_a_hostile_name_lies_in_input(workspace: Workspace, name: str) -> None:
    (path,) = await take_uploads(workspace, [upload(name, b"x")])
    assert names_of(path)[0] == "input"
    assert len(names_of(path)) == 2
    assert [info.path for info in await workspace.list()] == [path]


async def test_uploads_count_for_the_quota(workspace: Workspace) -> None:
    with pytest.raises(QuotaExceededError):
        await take_uploads(workspace, [upload("a.csv", bytes(2**20 + 1))])


@pytest.mark.parametrize(
    ("name", "mime_type", "expected"),
    [
        ("C:\\Users\\me\\report.docx", None, "report.docx"),
        ("../../etc/passwd", None, "passwd"),
        ("evil\u202efdp.exe", None, "evilfdp.exe"),
        ("e\u0301.txt", None, "é.txt"),
        (".bashrc", None, "bashrc"),
        ("a" * 300 + ".csv", None, "a" * 176 + ".csv"),
        ("", "application/pdf", "upload.pdf"),
        (None, None, "upload"),
    ],
)
def test_a_name_is_made_harmless(name: str | None, mime_type: str | None, expected: str) -> None:
    assert upload_name(name, mime_type) == expected
