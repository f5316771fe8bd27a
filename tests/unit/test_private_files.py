"""What is kept of people can be read by nobody else on the machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from oda.database.database import open_database
from oda.database.engine import DATABASE_FILE, make_directory


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def write_to(file: Path) -> None:
    def write(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE IF NOT EXISTS kept (said TEXT)"))
        connection.execute(text("INSERT INTO kept VALUES ('hello')"))

    async with open_database(f"sqlite:///{file}") as database:
        await database.journal.run(write)


@pytest.fixture
def anybody_may_read() -> Iterator[None]:
    """The usual umask, under which new files are readable by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("anybody_may_read")
async def test_a_new_database_is_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "data" / DATABASE_FILE
    await write_to(file)
    assert {mode(part) for part in file.parent.iterdir()} == {0o600}
    assert mode(file.parent) == 0o700


@pytest.mark.usefixtures("anybody_may_read")
async def test_what_was_made_with_wider_modes_is_narrowed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(0o755)
    parts = [folder / f"{DATABASE_FILE}{end}" for end in ("", "-wal", "-shm")]
    for part in parts:
        part.touch(0o644)
    async with open_database(f"sqlite:///{parts[0]}"):
        assert {mode(part) for part in parts if part.exists()} == {0o600}
    assert mode(folder) == 0o700


@pytest.mark.usefixtures("anybody_may_read")
async def test_a_directory_of_others_things_is_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    make_directory(shared)
    await write_to(shared / "mine.db")
    assert (mode(shared), mode(shared / "mine.db")) == (0o755, 0o600)


async def test_errors_of_the_database_do_not_show_what_was_said(tmp_path: Path) -> None:
    insert = text("INSERT INTO nowhere VALUES (:said)").bindparams(said="PRIVATE")
    async with open_database(f"sqlite:///{tmp_path / DATABASE_FILE}") as database:
        with pytest.raises(SQLAlchemyError) as failed:
            await database.journal.run(lambda connection: connection.execute(insert))
    assert "PRIVATE" not in str(failed.value)
