"""Workspaces on a real file system: files, quotas, who sees what, and how long they are kept."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oda.errors import PathRefusedError, QuotaExceededError, WorkspaceError
from oda.settings import WorkspaceSettings
from oda.testing import FakeClock
from oda.workspace.places import folder_of
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces
from tests.support.hostile_paths import HOSTILE_FILES

MB = 2**20
DAY = 86_400.0
SETTINGS = WorkspaceSettings(quota_bytes=MB, quota_files=10, retention_days=30)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_700_000_000.0)


@pytest.fixture
def workspaces(tmp_path: Path, clock: FakeClock) -> Workspaces:
    return Workspaces(tmp_path / "deep" / "workspaces", SETTINGS, clock)


@pytest.fixture
async def workspace(workspaces: Workspaces) -> AsyncIterator[Workspace]:
    async with await workspaces.open("session", "run") as opened:
        yield opened


async def paths(workspace: Workspace, folder: str = "") -> list[str]:
    return [info.path for info in await workspace.list(folder)]


async def test_files_are_written_read_listed_and_deleted(workspace: Workspace) -> None:
    await workspace.write("output/b.txt", b"b")
    info = await workspace.write("./output//a/ä.txt", b"one")
    await workspace.write("output/a/ä.txt", b"other")

    assert (info.path, info.bytes) == ("output/a/ä.txt", 3)
    assert await workspace.read("output/a/ä.txt") == b"other"
    assert await paths(workspace) == ["output/a/ä.txt", "output/b.txt"]
    assert await paths(workspace, "output/a/") == ["output/a/ä.txt"]
    assert await paths(workspace, "input") == []
    assert await workspace.find("output/a") is None
    await workspace.delete("output/b.txt")
    assert await workspace.find("output/b.txt") is None
    with pytest.raises(WorkspaceError, match=r"There is no 'output/b\.txt'"):
        await workspace.read("output/b.txt")
    assert sorted(one.name for one in workspace.path.iterdir()) == ["data", "input", "output"]


@pytest.mark.parametrize("hostile", HOSTILE_FILES)
async def test_what_is_no_plain_file_is_not_listed(
    workspace: Workspace, tmp_path: Path, hostile: object
) -> None:
    assert callable(hostile)
    (tmp_path / "secret.txt").write_bytes(b"secret")
    hostile(workspace.path / "output" / "a.txt", tmp_path)

    assert "output/a.txt" not in await paths(workspace)
    with pytest.raises(PathRefusedError):
        await workspace.read("output/a.txt")


async def test_a_file_is_read_up_to_a_size(workspace: Workspace) -> None:
    await workspace.write("a", bytes(100))

    assert len(await workspace.read("a", max_bytes=100)) == 100
    with pytest.raises(QuotaExceededError, match="100 bytes; at most 99"):
        await workspace.read("a", max_bytes=99)


async def test_the_quota_of_bytes_holds(workspace: Workspace) -> None:
    await workspace.write("a", bytes(MB - 10))
    with pytest.raises(QuotaExceededError):
        await workspace.write("b", bytes(11))
    with pytest.raises(QuotaExceededError):
        await workspace.write("a", bytes(MB + 1))

    assert await paths(workspace) == ["a"]
    assert await workspace.read("a") == bytes(MB - 10)
    await workspace.write("b", bytes(10))
    await workspace.write("a", bytes(MB - 10))
    await workspace.delete("b")
    await workspace.write("a", bytes(MB))
    assert sum(info.bytes for info in await workspace.list()) == MB


async def test_the_quota_of_files_and_folders_holds(workspace: Workspace) -> None:
    for number in range(4):
        await workspace.write(f"output/{number}", b"")
    await workspace.write("one/more/file", b"")
    for path in ("output/10", "two/a"):
        with pytest.raises(QuotaExceededError, match="10 files and folders"):
            await workspace.write(path, b"")
    await workspace.write("output/0", b"replaced")
    await workspace.delete("output/1")
    await workspace.write("output/10", b"")


async def test_writers_at_once_do_not_exceed_the_quota(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    async def write(number: int) -> bool:
        async with await workspaces.open("session", "run") as ours:
            try:
                await ours.write(f"data/{number % 5}", bytes(MB // 3))
            except QuotaExceededError:
                return False
            return True

    done = await asyncio.gather(*map(write, range(20)))

    assert 1 <= sum(done) < 20
    assert sum(info.bytes for info in await workspace.list()) <= MB


async def test_what_others_have_written_counts_after_a_recount(workspace: Workspace) -> None:
    await workspace.write("a", b"a")
    (workspace.path / "data" / "big").write_bytes(bytes(MB))
    await workspace.recount()
    with pytest.raises(QuotaExceededError):
        await workspace.write("b", b"b")

    (workspace.path / "data" / "big").unlink()
    await workspace.write("b", b"b")


async def test_a_file_is_copied_from_a_handle_within_the_quota(
    workspace: Workspace, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(300_000))
    fd = os.open(source, os.O_RDONLY)
    os.lseek(fd, 100, os.SEEK_SET)

    info = await workspace.write_from("data/copy", fd)
    assert info.bytes == 300_000
    assert await workspace.read("data/copy") == source.read_bytes()

    os.truncate(source, 10 * MB)
    with pytest.raises(QuotaExceededError):
        await workspace.write_from("data/copy", fd)
    os.close(fd)
    assert (await workspace.list())[0].bytes == 300_000


async def test_what_a_dead_process_was_writing_is_removed(workspaces: Workspaces) -> None:
    async with await workspaces.open("session", "run") as workspace:
        draft = workspace.path / ".oda-draft-0"
        draft.write_bytes(bytes(MB))
        assert await paths(workspace) == []
        await workspace.write("a", bytes(MB))
        assert not draft.exists()


async def test_runs_at_once_never_see_each_other(workspaces: Workspaces) -> None:
    async def run(session_id: str, run_id: str) -> list[str]:
        async with await workspaces.open(session_id, run_id) as ours:
            await ours.write(f"output/{run_id}.txt", run_id.encode())
            await asyncio.sleep(0)
            with pytest.raises(WorkspaceError):
                await ours.read("../two/output/two.txt")
            return await paths(ours)

    runs = [("s", "one"), ("s", "two"), ("S/../s", "three"), ("s", "../s/one"), ("~", "")]
    seen = await asyncio.gather(*(run(*one) for one in runs[:3]))
    assert seen == [["output/one.txt"], ["output/two.txt"], ["output/three.txt"]]
    for session_id, run_id in runs[3:]:
        async with await workspaces.open(session_id, run_id) as ours:
            assert await paths(ours) == []


def test_an_id_is_its_own_folder_only_where_it_is_plain() -> None:
    odd = ["", ".", "..", "a/b", "~", "a b", "ä", "a" * 101, "-a", "a\0", "\ud800", "a.b"]
    folders = [folder_of(one) for one in odd]
    assert folder_of("Ab_3-x") == "Ab_3-x"
    assert len(set(folders)) == len(odd)
    assert all(one.startswith("~") and "/" not in one for one in folders)


async def test_a_workspace_is_found_only_if_it_is_there(workspaces: Workspaces) -> None:
    assert await workspaces.find("session", "run") is None
    async with await workspaces.open("session", "run") as workspace:
        await workspace.write("output/a", b"a")
    found = await workspaces.find("session", "run")
    assert found is not None
    async with found:
        assert await paths(found) == ["output/a"]
    assert await workspaces.find("session", "other") is None


async def test_a_session_that_is_a_link_is_refused(workspaces: Workspaces, tmp_path: Path) -> None:
    async with await workspaces.open("session", "run") as workspace:
        base = workspace.path.parent.parent
    (base / "linked").symlink_to(tmp_path)

    with pytest.raises(PathRefusedError):
        await workspaces.open("linked", "run")
    with pytest.raises(PathRefusedError):
        await workspaces.delete("linked", "run")


async def test_what_is_not_used_for_long_is_removed(
    workspaces: Workspaces, clock: FakeClock, tmp_path: Path
) -> None:
    assert await workspaces.sweep() == 0
    (tmp_path / "outside").write_bytes(b"kept")
    for run_id in ("old", "read", "open"):
        async with await workspaces.open("session", run_id) as workspace:
            (workspace.path / "output" / "link").symlink_to(tmp_path / "outside")
            (workspace.path / "output" / "folder").symlink_to(tmp_path)
    async with await workspaces.open("other", "old") as workspace:
        base = workspace.path.parent.parent
    (base / "stranger.txt").write_bytes(b"not ours")

    clock.advance(20 * DAY)
    assert await workspaces.sweep() == 0
    if (read := await workspaces.find("session", "read")) is not None:
        await read.close()
    async with await workspaces.open("session", "open") as held:
        clock.advance(11 * DAY)
        os.utime(held.path, (0, 0))
        assert await workspaces.sweep() == 2

    assert sorted(one.name for one in base.iterdir()) == ["session", "stranger.txt"]
    assert sorted(one.name for one in (base / "session").iterdir()) == ["open", "read"]
    clock.advance(31 * DAY)
    assert await workspaces.sweep() == 2
    assert [one.name for one in base.iterdir()] == ["stranger.txt"]
    assert (tmp_path / "outside").read_bytes() == b"kept"


async def test_runs_and_sessions_can_be_deleted(workspaces: Workspaces) -> None:
    for session_id, run_id in (("a", "1"), ("a", "2"), ("b", "1")):
        async with await workspaces.open(session_id, run_id) as workspace:
            await workspace.write("output/x", bytes(MB))

    await workspaces.delete("a", "1")
    assert await workspaces.find("a", "1") is None
    await workspaces.delete("a", "1")
    async with await workspaces.open("a", "1") as anew:
        await anew.write("output/y", bytes(MB))
    await workspaces.delete("a", "1", "2", "never")
    assert await workspaces.find("a", "2") is None
    kept = await workspaces.find("b", "1")
    assert kept is not None
    async with kept:
        assert await paths(kept) == ["output/x"]


async def test_who_stops_waiting_leaves_nothing_open(
    workspaces: Workspaces, clock: FakeClock
) -> None:
    opening = asyncio.create_task(workspaces.open("session", "run"))
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    async with await workspaces.open("session", "other"):
        pass

    clock.advance(31 * DAY)
    removed = 0
    async with asyncio.timeout(30):
        while removed < 2:
            removed += await workspaces.sweep()


async def test_a_place_that_cannot_be_used_is_named(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "file").write_bytes(b"")
    broken = Workspaces(tmp_path / "file", SETTINGS, clock)
    with pytest.raises(WorkspaceError, match="ODA_WORKSPACE__ROOT"):
        await broken.open("session", "run")
