"""What both ways to open paths below a directory promise, whatever lies there."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oda.errors import PathRefusedError, WorkspaceError
from oda.workspace.opening import Opener, best_opener, open_at_once, open_one_by_one
from oda.workspace.path_guard import Root
from tests.support.hostile_paths import HOSTILE_FILES, HOSTILE_PATHS, OUTSIDE, SECRET, a_folder

ROUNDS = 400


@pytest.fixture(params=[open_at_once, open_one_by_one])
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    if chosen is open_at_once and best_opener() is open_one_by_one:
        pytest.skip("this system has no openat2")
    return chosen


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / OUTSIDE
    folder.mkdir()
    (folder / "secret.txt").write_bytes(SECRET)
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "output").mkdir(parents=True)
    return folder


@pytest.fixture
def root(top: Path, opener: Opener) -> Iterator[Root]:
    with Root.at(top, opener=opener) as opened:
        yield opened


def read(root: Root, path: str) -> bytes:
    with os.fdopen(root.open_file(path), "rb") as file:
        return file.read()


def write(root: Root, path: str, data: bytes = b"new") -> None:
    with root.draft(path, before_folder=lambda: None) as draft:
        draft.append(data)
        draft.publish()


def untouched(outside: Path) -> bool:
    (file,) = outside.iterdir()
    return file.name == "secret.txt" and file.read_bytes() == SECRET


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=ascii)
def test_a_hostile_path_is_refused_by_its_name(root: Root, outside: Path, path: str) -> None:
    uses: list[Callable[[], object]] = [
        lambda: root.open_file(path),
        lambda: root.status(path),
        lambda: write(root, path),
        lambda: root.delete_file(path),
        lambda: list(root.entries(path)),
        lambda: root.make_folder(path),
        lambda: root.set_aside(path),
    ]
    for use in uses:
        with pytest.raises(PathRefusedError) as refused:
            use()
        assert refused.value.remedy
        assert len(str(refused.value)) < 1500
        assert str(refused.value).isprintable()
    assert untouched(outside)


@pytest.mark.parametrize("path", [None, 7, b"a.txt", ["a.txt"]])
def test_what_is_no_text_is_no_path(root: Root, path: str) -> None:
    with pytest.raises(PathRefusedError):
        root.open_file(path)


@pytest.mark.parametrize(
    "path",
    ["output/a.txt", "./output//a.txt", "報告/年度 總結.md", "a b.txt", "~/a", "%2e%2e/a"],
)
def test_an_honest_path_leads_to_its_file(root: Root, path: str) -> None:
    write(root, path, b"one")
    write(root, path, b"two")

    assert read(root, path) == b"two"
    assert root.delete_file(path) == 3
    assert root.status(path) is None


@pytest.mark.parametrize("hostile", HOSTILE_FILES)
def test_what_is_no_plain_file_is_refused(
    root: Root, top: Path, outside: Path, hostile: Callable[[Path, Path], None]
) -> None:
    hostile(top / "output" / "a.txt", outside)

    for use in (
        lambda: root.open_file("output/a.txt"),
        lambda: root.status("output/a.txt"),
        lambda: write(root, "output/a.txt"),
        lambda: root.delete_file("output/a.txt"),
        lambda: root.open_file("output/a.txt/b.txt"),
        lambda: write(root, "output/a.txt/b.txt"),
        lambda: list(root.entries("output/a.txt")),
    ):
        with pytest.raises(PathRefusedError):
            use()
    assert [one.path for one in root.entries() if one.is_a_file and one.names[-1] == "a.txt"] == []
    assert untouched(outside)


def test_a_folder_is_no_file(root: Root, top: Path, outside: Path) -> None:
    a_folder(top / "output" / "a.txt", outside)

    assert root.status("output/a.txt") is None
    for use in (root.open_file, root.delete_file, lambda path: write(root, path)):
        with pytest.raises(PathRefusedError, match="folder"):
            use("output/a.txt")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_refused(root: Root, top: Path) -> None:
    os.mknod(top / "zero", 0o20666, os.makedev(1, 5))
    with pytest.raises(PathRefusedError):
        root.open_file("zero")


@pytest.mark.parametrize("link", ["folder", "folder/inner"])
def test_no_folder_on_the_way_may_be_a_link(
    root: Root, top: Path, outside: Path, link: str
) -> None:
    (top / link).parent.mkdir(exist_ok=True)
    (top / link).symlink_to(outside)

    for use in (root.open_file, root.status, root.delete_file, lambda path: write(root, path)):
        with pytest.raises(PathRefusedError):
            use(f"{link}/secret.txt")
    with pytest.raises(PathRefusedError):
        write(root, f"{link}/new/a.txt")
    with pytest.raises(PathRefusedError):
        root.make_folder(f"{link}/new")
    assert all(one.names[-1] != "secret.txt" for one in root.entries())
    assert untouched(outside)


@pytest.mark.skipif(not Path("/proc/self/root").exists(), reason="there is no /proc")
@pytest.mark.parametrize("path", ["proc/version", "proc/self/root/etc/passwd", "proc/self/cwd/x"])
def test_other_file_systems_and_magic_links_are_not_entered(opener: Opener, path: str) -> None:
    with Root.at(Path("/"), opener=opener) as root, pytest.raises(PathRefusedError):
        root.open_file(path)


def test_a_missing_file_is_told_apart_from_a_refused_one(root: Root) -> None:
    for path in ("output/none.txt", "none/none.txt"):
        with pytest.raises(WorkspaceError, match="There is no") as missing:
            root.open_file(path)
        assert not isinstance(missing.value, PathRefusedError)
        assert root.status(path) is None


def put(this: Path, there: Path) -> None:
    """Rename, over whatever another thread may have made there."""
    while True:
        try:
            this.rename(there)
        except OSError:
            shutil.rmtree(there, ignore_errors=True)
        else:
            return


@contextmanager
def swapped(place: Path, other: Path) -> Iterator[None]:
    """Let a name mean what it does, then `other`, and so on, as fast as may be."""
    aside, stop = place.with_name("aside"), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            put(place, aside)
            put(other, place)
            put(place, other)
            put(aside, place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive()


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(
    root: Root, top: Path, outside: Path
) -> None:
    place, link, path = top / "place", top / "link", "place/secret.txt"
    place.mkdir()
    (place / "secret.txt").write_bytes(b"ours")
    link.symlink_to(outside)
    seen: set[int] = set()
    refused = 0

    with swapped(place, link):
        for _ in range(ROUNDS):
            uses: list[Callable[[], object]] = [
                lambda: seen.add(len(read(root, path))),
                lambda: write(root, path, b"ours"),
                lambda: write(root, "place/inner/new.txt", b"ours"),
                lambda: root.delete_file("place/inner/new.txt"),
                lambda: seen.update(
                    one.status.st_size for one in root.entries() if one.names[-1] == "secret.txt"
                ),
            ]
            for use in uses:
                try:
                    use()
                except WorkspaceError:
                    refused += 1

    assert seen == {len(b"ours")}
    assert refused
    assert untouched(outside)


def test_a_file_that_becomes_a_link_meanwhile_leads_nowhere(
    root: Root, top: Path, outside: Path
) -> None:
    place, link = top / "place", top / "link"
    place.write_bytes(b"ours")
    link.symlink_to(outside / "secret.txt")
    seen: set[bytes] = set()
    refused = 0

    with swapped(place, link):
        for _ in range(50 * ROUNDS):
            try:
                seen.add(read(root, "place"))
            except WorkspaceError:
                refused += 1
            if seen and refused > ROUNDS:
                break

    assert seen == {b"ours"}
    assert refused
    assert untouched(outside)


def test_a_tree_is_deleted_with_its_links_but_not_what_they_lead_to(
    root: Root, top: Path, outside: Path
) -> None:
    tree = top / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(outside)
    (tree / "hard").hardlink_to(outside / "secret.txt")
    os.mkfifo(tree / "fifo")
    deep = os.open(tree, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deeper", dir_fd=deep)
        below = os.open("deeper", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.symlink(outside, "link", dir_fd=deep)
    os.close(deep)

    assert root.set_aside("tree")
    assert not tree.exists()
    root.delete_set_aside()

    assert [one.name for one in top.iterdir()] == ["output"]
    assert untouched(outside)
    assert not root.set_aside("tree")


def test_a_link_in_the_place_of_a_tree_is_all_that_is_deleted(
    root: Root, top: Path, outside: Path
) -> None:
    (top / "tree").symlink_to(outside)

    root.set_aside("tree")
    root.delete_set_aside()

    assert not (top / "tree").is_symlink()
    assert untouched(outside)


def test_a_closed_root_gives_nothing(root: Root) -> None:
    root.close()
    with pytest.raises(WorkspaceError, match="closed"):
        root.open_file("output/a.txt")
