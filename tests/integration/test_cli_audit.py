"""`oda audit`."""

import json
from pathlib import Path

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.audit import AuditLog
from tests.support.oda_command import Home


async def test_entries_are_printed_for_people_and_for_machines(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert (await home.run("audit")).stdout == "no entries\n"
    async with open_database(f"sqlite:///{tmp_path / 'data' / 'oda.db'}") as database:
        await upgrade(database.engine)
        log = AuditLog(database, SystemClock())
        for status, detail in ((404, {}), (200, {"answers": [{"id": "c1", "confirmed": True}]})):
            await log.record(
                actor="root",
                user_id="ann",
                key_id="key_1",
                action="POST /v1/turns/{tid}/input",
                target="/v1/turns/turn_1/input",
                status=status,
                trace_id=None,
                detail=detail,
            )
    shown = (await home.run("audit", "--after", "1")).stdout
    assert "root for ann (key_1)  POST /v1/turns/turn_1/input  200" in shown
    assert '"confirmed": true' in shown
    assert shown.count("\n") == 1
    ended = await home.run("audit", "--limit", "1", "--json")
    (entry,) = json.loads(ended.stdout)["entries"]
    assert (entry["id"], entry["status"], entry["action"]) == (
        *(1, 404, "POST /v1/turns/{tid}/input"),
    )
    assert (ended.code, ended.stderr) == (0, "")


async def test_what_is_changed_from_the_terminal_is_recorded(tmp_path: Path) -> None:
    home = Home(tmp_path)
    made = json.loads((await home.run("keys", "create", "--user", "ann", "--json")).stdout)
    await home.run("keys", "revoke", made["key_id"])
    ended = await home.run("audit", "--json")
    entries = json.loads(ended.stdout)["entries"]
    assert [(entry["action"], entry["target"], entry["user_id"]) for entry in entries] == [
        ("oda keys create", made["key_id"], "ann"),
        ("oda keys revoke", made["key_id"], "ann"),
    ]
    assert all(entry["actor"].endswith("(terminal)") for entry in entries)
    assert made["key"] not in ended.stdout
