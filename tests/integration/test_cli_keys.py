"""`oda keys`: made once, listed without secrets, revoked for ever."""

import json
import re
from pathlib import Path

from tests.support.oda_command import Home

KEY = re.compile(r"oda_([0-9a-f]{16})_[\w-]{43}")


async def test_a_key_is_shown_once_alone_on_stdout(tmp_path: Path) -> None:
    home = Home(tmp_path)
    made = await home.run("keys", "create", "--user", "anna", "--note", "for the bot")
    match = KEY.fullmatch(made.stdout.strip())
    assert match is not None
    assert made.code == 0
    assert made.stderr == f"This is key {match[1]} of anna (user); it is shown only this once.\n"
    listed = await home.run("keys", "list")
    assert listed.stdout.startswith(f"{match[1]}  anna  user   since ")
    assert listed.stdout.endswith("  for the bot\n")
    assert made.stdout.strip() not in listed.stdout
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert made.stdout.strip().split("_", 2)[2].encode() not in stored


async def test_for_machines_everything_is_json(tmp_path: Path) -> None:
    home = Home(tmp_path)
    options = ("--user", "root", "--scope", "admin", "--expires-days", "7", "--json")
    made = json.loads((await home.run("keys", "create", *options)).stdout)
    assert KEY.fullmatch(made.pop("key"))
    assert (made["user_id"], made["scope"], made["revoked_at"]) == ("root", "admin", None)
    listed = json.loads((await home.run("keys", "list", "--json")).stdout)
    assert listed == {"keys": [made]}
    revoked = json.loads((await home.run("keys", "revoke", made["key_id"], "--json")).stdout)
    assert revoked == {**made, "revoked_at": revoked["revoked_at"]}
    assert revoked["revoked_at"]


async def test_a_revoked_key_stays_listed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert (await home.run("keys", "list")).stdout == "no keys\n"
    made = await home.run("keys", "create", "--user", "anna")
    key_id = made.stdout.split("_")[1]
    revoked = await home.run("keys", "revoke", key_id)
    assert (revoked.code, revoked.stdout) == (0, f"{key_id} of anna is revoked\n")
    assert f"{key_id}  anna  user   revoked " in (await home.run("keys", "list")).stdout


async def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for arguments, reason in (
        (("revoke", "nobody"), "There is no API key 'nobody'"),
        (("create",), "Missing option '--user'"),
        (("create", "--user", "a/b"), "The user_id must be"),
        (("create", "--user", "anna", "--scope", "god"), "Invalid value for '--scope'"),
        (("create", "--user", "anna", "--expires-days", "0"), "Invalid value for '--expires-days'"),
    ):
        ended = await home.run("keys", *arguments)
        assert (ended.code, ended.stdout) == (2, "")
        (line,) = ended.stderr.splitlines()
        assert reason in line


async def test_a_database_that_is_away_is_told(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run(
        *("keys", "list"), DATABASE_URL="postgresql+psycopg://127.0.0.1:1/x"
    )
    assert (ended.code, ended.stdout) == (2, "")
    assert "cannot be reached" in ended.stderr


async def test_a_public_address_needs_a_key_an_issuer_or_courage(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert "oda keys create" in line
    assert "--insecure" in line
