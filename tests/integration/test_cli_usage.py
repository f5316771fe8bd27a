"""What `oda` says about itself, and how it refuses."""

import socket
from pathlib import Path

import pytest

from tests.support.oda_command import Ended, Home

HEAVY = ("google.adk", "litellm", "fastapi", "sqlalchemy", "pydantic")

SHOW_IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}


def imports(ended: Ended) -> set[str]:
    """The modules that a command has imported."""
    return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}


def refusal(ended: Ended) -> str:
    """The one line with which a command refused."""
    assert ended.code == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: ")
    return line


async def test_help_names_the_commands_and_the_exit_codes(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("--help")
    assert ended.code == 0
    commands = ("serve", "chat", "run", "agents", "sessions", "turns", "db", "doctor")
    for word in (*commands, "3 the turn"):
        assert word in ended.stdout


async def test_without_a_command_help_is_shown(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run()
    assert ended.code == 2
    assert "Usage: oda" in ended.stdout
    assert ended.stderr == ""


async def test_the_version_is_told(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("--version")
    assert ended == Ended(0, "oda 0.1.0\n", "")


async def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    ended = await Home(tmp_path, variables=SHOW_IMPORTS).run("--help")
    imported = imports(ended)
    assert "oda.cli.app" in imported
    assert not imported & set(HEAVY)


async def test_without_a_model_litellm_is_not_imported(tmp_path: Path) -> None:
    ended = await Home(tmp_path, variables=SHOW_IMPORTS).run("run", "greeter", "hi")
    imported = imports(ended)
    assert "oda.context" in imported
    assert "litellm" not in imported
    assert "ODA_MODEL" in ended.stderr
    assert ended.code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chatt"], ["chatt", "oda --help"]),
        (["chat"], ["AGENT", "oda chat --help"]),
        (["run", "greeter", "hi", "--nonsense"], ["--nonsense", "oda run --help"]),
        (["serve", "--port", "many"], ["--port", "oda serve --help"]),
    ],
)
async def test_wrong_usage_is_one_line_with_the_help_to_read(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    line = refusal(await Home(tmp_path).run(*arguments))
    assert all(word in line for word in words)


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (["run", "nobody", "hi"], {}, ["'nobody'", "there are: greeter"]),
        (["run", "greeter", " "], {}, ["empty"]),
        (["agents", "--agents", "elsewhere"], {}, ["'elsewhere'", "--agents", "ODA_AGENTS_DIR"]),
        (["agents"], {"TOOL_THREADS": "many"}, ["ODA_TOOL_THREADS", "environment"]),
        (["agents"], {"LOG_LEVEL": "loud"}, ["ODA_LOG_LEVEL", "debug"]),
        (["run", "greeter", "hi"], {"MODEL": "openai/gpt-4o"}, ["OPENAI_API_KEY"]),
        (["serve", "--port", "0"], {"MODEL": "gemini-2.5-pro"}, ["GOOGLE_API_KEY"]),
        (
            ["run", "greeter", "hi"],
            {"DATABASE_URL": "postgresql+psycopg://u:hidden@127.0.0.1:1/x"},
            ["127.0.0.1:1", "cannot be reached", "ODA_DATABASE_URL"],
        ),
        (
            ["serve", "--port", "0"],
            {"DATABASE_URL": "postgresql+psycopg://u:hidden@127.0.0.1:1/x"},
            ["127.0.0.1:1", "cannot be reached", "ODA_DATABASE_URL"],
        ),
        (["serve", "--host", "0.0.0.0"], {}, ["0.0.0.0", "--insecure"]),
        (["serve"], {"HOST": "192.0.2.1"}, ["192.0.2.1", "--insecure"]),
        (["serve", "--port", "70000"], {}, ["ODA_PORT", "65535"]),
    ],
)
async def test_what_is_wrong_is_one_line_with_the_remedy(
    tmp_path: Path, arguments: list[str], settings: dict[str, str], words: list[str]
) -> None:
    line = refusal(await Home(tmp_path).run(*arguments, **settings))
    assert all(word in line for word in words), line
    assert "hidden" not in line


async def test_a_wrong_file_is_named_with_key_and_reason(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("config/mcp.yaml", "servers:\n  docs:\n    transport: stdio\n    comand: python\n")
    line = refusal(await home.run("run", "greeter", "hi"))
    assert "config/mcp.yaml" in line
    assert "servers.docs.comand" in line


async def test_a_broken_agent_is_named_with_the_reason(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("agents/broken/agent.py", "raise RuntimeError('no coffee')")
    line = refusal(await home.run("run", "broken", "hi"))
    assert "'broken'" in line
    assert "no coffee" in line


async def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = refusal(await Home(tmp_path).run("serve", "--port", port))
    assert f"port {port} on 127.0.0.1 is in use" in line
    assert "--port" in line


async def test_the_log_level_debug_shows_where_an_error_comes_from(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("run", "nobody", "hi", LOG_LEVEL="debug")
    assert "Traceback" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("error: There is no agent")
