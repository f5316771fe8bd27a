"""`oda agents` and `oda doctor`."""

import json
from pathlib import Path
from typing import Any

from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.turn.store import TurnStore
from tests.support.oda_command import Ended, Home
from tests.support.turns import new_turn, said

NO_DATABASE = "postgresql+psycopg://127.0.0.1:1/x"


def checks(ended: Ended) -> dict[str, dict[str, Any]]:
    """What `oda doctor --json` found, by the name of the check."""
    return {finding["check"]: finding for finding in json.loads(ended.stdout)["checks"]}


async def test_agents_are_listed_with_model_and_tools(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("agents", DATABASE_URL=NO_DATABASE)
    assert ended == Ended(
        0,
        "greeter  (no model configured)  Greets people.\n         tools: delete_file, weather\n",
        "",
    )


async def test_an_agent_that_cannot_be_loaded_is_listed_with_the_reason(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("agents/broken/agent.py", "raise RuntimeError('no coffee')")
    ended = await home.run("agents", "--json", MODEL="openai/gpt-4o")
    broken, greeter = json.loads(ended.stdout)["apps"]
    assert "no coffee" in broken["error"]
    assert greeter["model"] == {"state": "configured", "name": "openai/gpt-4o"}
    assert ended.code == 1
    assert ended.stderr == ""


async def test_a_sound_installation_without_a_model_passes_with_a_warning(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("doctor")
    assert ended.code == 0
    assert "ok    agent greeter: Greets people." in ended.stdout
    assert "warn  model: none is configured" in ended.stdout
    assert "ok    sandbox: " in ended.stdout
    assert "fail" not in ended.stdout


async def test_everything_that_is_wrong_is_found_at_once_with_its_remedy(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("agents/broken/agent.py", "raise RuntimeError('no coffee')")
    home.write("config/mcp.yaml", "servers: {dead: {transport: stdio, command: not-there}}")
    ended = await home.run("doctor", "--json", DATABASE_URL=NO_DATABASE, MODEL="openai/gpt-4o")
    found = checks(ended)
    failures = {name for name, finding in found.items() if finding["status"] == "fail"}
    assert failures == {"sessions", "agent broken", "model openai/gpt-4o", "MCP server dead"}
    assert all(found[name]["remedy"] for name in failures)
    assert ended.code == 1
    assert ended.stderr == ""


async def test_that_code_is_not_run_is_a_warning_that_says_how_to_change_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("config/oda.yaml", "sandbox: none")
    ended = await home.run("doctor", "--json")
    finding = checks(ended)["sandbox"]
    assert (finding["status"], ended.code) == ("warn", 0)
    assert "ODA_SANDBOX=none" in finding["detail"]
    assert "ODA_SANDBOX=auto" in finding["remedy"]


async def test_the_model_that_writes_down_recordings_needs_its_key(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("doctor", "--json", TRANSCRIBE_MODEL="openai/whisper-1")
    finding = checks(ended)["model openai/whisper-1"]
    assert (finding["status"], finding["detail"]) == ("fail", "its key is missing")


async def test_wrong_settings_and_files_are_findings_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    bad_setting = checks(await home.run("doctor", "--json", TOOL_THREADS="many"))
    assert bad_setting["settings"]["status"] == "fail"
    home.write("config/retry.yaml", "policies: {slow: {max_retries: often}}")
    bad_file = checks(await home.run("doctor", "--json"))
    assert bad_file["sessions"]["status"] == "ok"
    assert "policies.slow.max_retries" in bad_file["configuration"]["detail"]


OWN_MODEL = """
from google.adk.agents import LlmAgent

helper = LlmAgent(name="helper", model="gemini-2.5-flash", description="Helps.")
root_agent = LlmAgent(name="bringer", model="{model}", sub_agents=[helper])
"""


async def test_an_agents_own_model_without_a_key_is_found_with_its_variable(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("agents/bringer/agent.py", OWN_MODEL.format(model="openai/gpt-4o"))
    home.write(
        "agents/written/root_agent.yaml",
        "name: written\nmodel: gemini-2.5-flash\ninstruction: Write.\n",
    )
    ended = await home.run("doctor", "--json")
    found = checks(ended)
    assert (found["agent bringer"]["status"], ended.code) == ("fail", 1)
    assert "OPENAI_API_KEY" in found["agent bringer"]["remedy"]
    assert "GOOGLE_API_KEY" in found["agent written"]["remedy"]
    home = Home(tmp_path, variables={"OPENAI_API_KEY": "x"})
    found = checks(await home.run("doctor", "--json"))
    assert "GOOGLE_API_KEY" in found["agent bringer"]["remedy"]
    home = Home(tmp_path, variables={"OPENAI_API_KEY": "x", "GOOGLE_API_KEY": "x"})
    assert (await home.run("doctor", "--json")).code == 0


async def test_variables_that_nobody_reads_are_found_with_the_nearest_name(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write(".env", "ODA_LOG_LEVELS=debug\nODA_CV__WINDOW_TOKENS=9000\n")
    found = checks(
        await home.run("doctor", "--json", MODLE="x", TURN__TIMEOUT_S="9", TEST_X="1", XYZ="1")
    )
    unknown = {name: finding for name, finding in found.items() if name.startswith("setting ")}
    assert {name: one["remedy"] for name, one in unknown.items()} == {
        "setting ODA_MODLE": "did you mean ODA_MODEL?",
        "setting ODA_LOG_LEVELS": "did you mean ODA_LOG_LEVEL?",
        "setting ODA_CV__WINDOW_TOKENS": "take it out",
        "setting ODA_XYZ": "take it out",
    }
    assert ".env" in unknown["setting ODA_LOG_LEVELS"]["detail"]
    agents = Path(__file__).parents[2] / "agents"
    found = checks(await home.run("doctor", "--json", "--agents", str(agents)))
    assert "setting ODA_CV__WINDOW_TOKENS" not in found


async def test_turns_that_wait_for_what_is_not_here_are_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("config/agents.yaml", "agents: {greeter: {version: '2'}}")
    url = f"sqlite:///{tmp_path / 'oda.db'}"
    async with open_database(url) as database:
        await upgrade(database.engine)
        store = TurnStore(database)
        for app, version, pinned in (
            ("greeter", "1", True),
            ("greeter", "2", True),
            ("greeter", "1", False),
            ("gone", "1", False),
        ):
            turn = new_turn(f"{app} {version} {pinned}")
            of = {"app": app, "agent_version": version, "pinned": pinned}
            await store.accept(turn.model_copy(update=of), said("hello"))
    found = checks(await home.run("doctor", "--json", DATABASE_URL=url))
    waits, misses = found["turns of greeter"], found["turns of gone"]
    assert (waits["status"], misses["status"]) == ("warn", "warn")
    assert waits["detail"] == "1 of them wait for version 1; here is 2"
    assert misses["detail"] == "1 of them wait for this app; here is none"
    assert "oda turns cancel" in waits["remedy"]
