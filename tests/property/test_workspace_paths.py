"""Whatever the path: what is written lies in the workspace, and what is outside stays as it is."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oda.errors import WorkspaceError
from oda.workspace.opening import Opener, best_opener, open_one_by_one
from oda.workspace.path_guard import Root
from oda.workspace.relative_path import names_of
from tests.support.hostile_paths import HOSTILE_PATHS, SECRET

PIECES = st.sampled_from(
    [*HOSTILE_PATHS, "..", ".", "/", "link", "linked", "output", "secret.txt", "a", "\\", "C:", " "]
)
PATHS = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="./\\ a\0\u202e\uff0f\uff0e:~-\ud800", max_size=12),
    st.lists(PIECES, max_size=6).map("/".join),
    st.lists(PIECES, max_size=6).map("".join),
)


def snapshot(directory: Path) -> dict[str, bytes | None]:
    """All that is there, links not followed."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        if path.is_file() and not path.is_symlink()
        else None
        for path in directory.rglob("*")
        if "root" not in path.relative_to(directory).parts
    }


@pytest.mark.parametrize("opener", list(dict.fromkeys([best_opener(), open_one_by_one])))
@given(path=PATHS)
@example("link/secret.txt")
@example("../outside/secret.txt")
@example("linked")
def test_nothing_outside_is_read_or_written(opener: Opener, path: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        (base / "outside").mkdir()
        (base / "outside" / "secret.txt").write_bytes(SECRET)
        top = base / "root"
        (top / "output").mkdir(parents=True)
        (top / "link").symlink_to(base / "outside")
        (top / "linked").symlink_to(base / "outside" / "secret.txt")
        before = snapshot(base)
        with Root.at(top, opener=opener) as root:
            with suppress(WorkspaceError), os.fdopen(root.open_file(path), "rb") as file:
                assert file.read() != SECRET
            with suppress(WorkspaceError):
                with root.draft(path, before_folder=lambda: None) as draft:
                    draft.append(b"new")
                    draft.publish()
                assert (top / "/".join(names_of(path))).resolve().is_relative_to(top.resolve())
                assert root.status(path) is not None
            with suppress(WorkspaceError):
                root.delete_file(path)
            with suppress(WorkspaceError):
                root.set_aside(path)
                root.delete_set_aside()
        assert snapshot(base) == before
