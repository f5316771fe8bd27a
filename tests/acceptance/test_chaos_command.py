"""`oda chaos`: an app is put through all faults, and what does not hold is found."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from oda.cli.chaos.command import own_database
from oda.cli.chaos.crash_points import OF_AGENTS, POINTS
from oda.cli.chaos.promises import PROMISES
from oda.database.listener import libpq_url
from tests.support.oda_command import Home

pytestmark = pytest.mark.timeout(240)

TEACHER = '''
"""Pays with a tool, and dies of nothing."""

from google.adk.agents import LlmAgent

from oda import configured_model


def pay(amount: int) -> dict:
    """Pay an amount."""
    return {"paid": amount}


root_agent = LlmAgent(name="teacher", model=configured_model(), tools=[pay])
'''
SCRIPT = {
    "steps": [
        {
            "type": "tool_calls",
            "times": None,
            "match": {"after_tool": False},
            "calls": [{"name": "pay", "args": {"amount": 7}}],
        }
    ]
}
FORGETFUL = '''
"""Deletes what its users have said before."""

import os
import sqlite3

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext

from oda import configured_model


def forget(callback_context: CallbackContext) -> None:
    file = os.environ["ODA_DATABASE_URL"].removeprefix("sqlite:///")
    with sqlite3.connect(file, timeout=10) as database:
        database.execute("DELETE FROM events WHERE event_data LIKE '%user%'")


root_agent = LlmAgent(name="forgetful", model=configured_model(), after_agent_callback=forget)
'''


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("agents/teacher/agent.py", TEACHER)
    home.write("script.json", json.dumps(SCRIPT))
    return home


async def found(home: Home, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and its report."""
    ended = await home.run("chaos", *arguments, "--json")
    assert ended.stdout, ended.stderr
    return ended.code, json.loads(ended.stdout)


def phases_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {phase["name"]: phase for phase in report["phases"]}


async def test_one_process_on_sqlite_keeps_all_promises(home: Home) -> None:
    code, report = await found(home, "teacher", "--kills", "2", "--script", "script.json")
    assert (code, report["ok"]) == (0, True), json.dumps(report, indent=1)
    phases = phases_of(report)
    assert set(phases) == {
        "no fault",
        "killed at commits",
        "killed at random",
        "model cut off",
        "model silent",
    }
    assert phases["killed at commits"]["times"] == len(set(POINTS) - OF_AGENTS)
    assert phases["killed at random"]["times"] == 2
    assert all(phase["messages"] >= 8 for phase in phases.values())
    assert not any(phase["errors"] for phase in phases.values())
    assert not (home.directory / "data").exists()


@pytest.mark.postgres
async def test_servers_and_workers_on_postgresql_keep_all_promises(
    home: Home, own_postgres: str
) -> None:
    several = ("--servers", "2", "--workers", "2", "--database", own_postgres)
    code, report = await found(home, "teacher", "--kills", "2", "--script", "script.json", *several)
    assert (code, report["ok"]) == (0, True), json.dumps(report, indent=1)
    phases = phases_of(report)
    assert phases["database cut off"]["times"] == 5
    assert phases["database silent"]["times"] == 1
    with psycopg.connect(libpq_url(own_postgres)) as connection:
        tables = connection.execute("SELECT 1 FROM pg_tables WHERE tablename = 'oda_turns'")
        assert tables.fetchall() == []


@pytest.mark.postgres
async def test_its_database_is_dropped(own_postgres: str) -> None:
    async with own_database(own_postgres) as url:
        with psycopg.connect(libpq_url(url)):
            pass
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(libpq_url(url))


async def test_a_promise_that_an_app_breaks_is_named(home: Home) -> None:
    home.write("agents/forgetful/agent.py", FORGETFUL)
    code, report = await found(home, "forgetful", "--kills", "0")
    assert (code, report["ok"]) == (1, False)
    broken = phases_of(report)["no fault"]["broken"]
    assert "G1" in {fault["promise"] for fault in broken}
    assert "is not stored" in broken[0]["text"]
    assert len(report["phases"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody",), "There is no agent 'nobody'"),
        (("teacher", "--workers", "1"), "--database postgresql://"),
        (("teacher", "--database", "sqlite:///x.db"), "is not a PostgreSQL URL"),
        (("teacher", "--script", "nowhere.json"), "nowhere.json"),
    ],
)
async def test_what_cannot_be_done_is_refused(
    home: Home, arguments: tuple[str, ...], said: str
) -> None:
    ended = await home.run("chaos", *arguments)
    assert ended.code == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_every_promise_has_a_text() -> None:
    assert list(PROMISES) == sorted(PROMISES)
    assert all(PROMISES.values())
