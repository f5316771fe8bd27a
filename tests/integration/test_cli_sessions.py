"""`oda sessions` and `oda db`: what is stored."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from oda.testing import ModelServer
from oda.testing.script import Call, ToolCalls
from tests.support.oda_command import Home

WEATHER = ToolCalls(calls=(Call(name="weather", args={"city": "Rome"}),))


async def test_sessions_are_listed_of_one_user_or_of_all(tmp_path: Path) -> None:
    home = Home(tmp_path)
    await home.run("run", "greeter", "hi", "--session", "s1")
    await home.run("run", "greeter", "hi", "--session", "s2", "--user", "anna")
    everyone = json.loads((await home.run("sessions", "list", "greeter", "--json")).stdout)
    anna = await home.run("sessions", "list", "greeter", "--user", "anna")
    nobody = await home.run("sessions", "list", "elsewhere")
    assert [(one["session_id"], one["turns"]) for one in everyone["sessions"]] == [
        ("s2", 1),
        ("s1", 1),
    ]
    assert anna.stdout.startswith("s2  ")
    assert anna.stdout.endswith("anna  1 turns\n")
    assert nobody.stdout == "no sessions\n"


async def test_a_session_is_shown_with_its_last_events(tmp_path: Path) -> None:
    async with ModelServer([WEATHER]) as model:
        home = Home(tmp_path, model=model)
        await home.run("run", "greeter", "weather?", "--session", "s1")
    shown = (await home.run("sessions", "show", "greeter", "s1")).stdout.splitlines()
    assert shown[0].startswith("s1  ")
    assert [line.strip() for line in shown[1:]] == [
        "state   nothing",
        "events  4",
        "user: weather?",
        '→ weather(city="Rome")',
        '← weather: "sunny in Rome"',
        "greeter: You said: weather?",
    ]
    details = json.loads((await home.run("sessions", "show", "greeter", "s1", "--json")).stdout)
    assert (details["turns"], details["state_keys"], details["events"]) == (1, [], 4)
    missing = await home.run("sessions", "show", "greeter", "s1", "--user", "anna")
    assert missing.code == 2
    assert "--user" in missing.stderr


async def test_a_session_is_deleted_with_its_turns_after_confirmation(tmp_path: Path) -> None:
    home = Home(tmp_path)
    delete = ("sessions", "delete", "greeter", "s1")
    await home.run("run", "greeter", "hi", "--session", "s1")
    unattended = await home.run(*delete)
    assert unattended.code == 2
    assert "--yes" in unattended.stderr
    async with home.terminal(*delete) as terminal:
        await terminal.shows("with 1 turns? [y/N]")
        terminal.type("n\r")
        await terminal.shows("nothing is deleted")
        assert await terminal.ends() == 4
    deleted = await home.run(*delete, "--yes")
    assert (deleted.code, deleted.stdout) == (0, "session s1 is deleted\n")
    assert (await home.run("sessions", "show", "greeter", "s1")).code == 2
    assert (await home.run("turns", "list")).stdout == "no turns\n"


async def test_the_database_is_upgraded_and_its_sizes_are_shown(tmp_path: Path) -> None:
    home = Home(tmp_path)
    empty = await home.run("db", "status")
    first = await home.run("db", "upgrade")
    second = await home.run("db", "upgrade", "--json")
    await home.run("run", "greeter", "hi")
    status = json.loads((await home.run("db", "status", "--json")).stdout)
    shown = await home.run("db", "status")
    assert empty.code == 1
    assert "oda db upgrade" in empty.stdout
    revision = status["known_revision"]
    assert first.stdout == f"the database was at no revision, and is at revision {revision} now\n"
    assert json.loads(second.stdout) == {"before": revision, "after": revision}
    assert status["revision"] == revision
    assert status["turns"] == {"succeeded": 1}
    assert (status["rows"]["oda_turns"], status["rows"]["sessions"]) == (1, 1)
    assert "1  (1 succeeded)" in shown.stdout
    assert shown.code == 0


async def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    await home.run("db", "upgrade")
    set_revision(tmp_path / "data" / "oda.db", "9999")
    refused = await home.run("db", "upgrade")
    assert refused.code == 2
    assert "9999" in refused.stderr
    assert (await home.run("db", "status")).code == 1


def set_revision(database: Path, revision: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE oda_schema_version SET version_num = ?", (revision,))
