"""YAML files become records; what is wrong is said with file, key, reason and remedy."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oda.config import (
    AgentRecord,
    Configuration,
    ConfigurationFiles,
    ModelRecord,
    RemoteMcpServerRecord,
    RetryRecord,
    StdioMcpServerRecord,
    default_directory,
    load_configuration,
)
from oda.errors import ConfigurationError

REPOSITORY = Path(__file__).parents[2]


def write(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / f"{name}.yaml").write_text(text, encoding="utf-8")
    return directory


def test_a_directory_that_is_not_there_and_an_empty_one_mean_the_defaults(tmp_path: Path) -> None:
    assert load_configuration(tmp_path / "none") == load_configuration(tmp_path) == Configuration()


def test_sections_whose_lines_are_all_commented_out_are_empty(tmp_path: Path) -> None:
    write(tmp_path, models="models:\n", agents="# nothing\n", mcp="servers:\n", retry="policies:")
    assert load_configuration(tmp_path) == Configuration()


def test_all_files_become_one_configuration(tmp_path: Path) -> None:
    write(
        tmp_path,
        models="""
            models:
              fast: {model: openai/gpt-4o-mini, api_key: "${KEY}", fallbacks: [local]}
              local: {model: ollama_chat/qwen3, timeout_s: 5, params: {max_tokens: 100}}
            """,
        agents="""
            agents:
              assistant: {model: fast, retry: patient, mcp_servers: [docs]}
              coder: {model: gemini-2.5-flash}
            """,
        mcp="""
            servers:
              docs: {transport: stdio, command: python, args: [-m, docs], cwd: ..}
              web: {transport: http, url: "https://x.example/mcp", headers: {X-Api-Key: "${KEY}"}}
            """,
        retry="policies: {patient: {max_retries: 8}}",
    )
    configuration = load_configuration(tmp_path)
    assert configuration == Configuration(
        models={
            "fast": ModelRecord(model="openai/gpt-4o-mini", api_key="${KEY}", fallbacks=("local",)),
            "local": ModelRecord(
                model="ollama_chat/qwen3", timeout_s=5, params={"max_tokens": 100}
            ),
        },
        agents={
            "assistant": AgentRecord(model="fast", retry="patient", mcp_servers=("docs",)),
            "coder": AgentRecord(model="gemini-2.5-flash"),
        },
        mcp_servers={
            "docs": StdioMcpServerRecord(
                command="python", args=("-m", "docs"), cwd=tmp_path.resolve().parent
            ),
            "web": RemoteMcpServerRecord(
                transport="http", url="https://x.example/mcp", headers={"X-Api-Key": "${KEY}"}
            ),
        },
        retry_policies={"patient": RetryRecord(max_retries=8)},
    )
    assert configuration.retry_policy("assistant").max_retries == 8
    assert configuration.retry_policy("coder") == RetryRecord()
    assert configuration.agent("unknown") == AgentRecord()


def test_the_default_policy_can_be_replaced(tmp_path: Path) -> None:
    configuration = load_configuration(
        write(tmp_path, retry="policies: {default: {max_retries: 1}}")
    )
    assert configuration.retry_policy("any").max_retries == 1


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "mcp",
            "servers: {a: {transport: stdio}}",
            "servers.a.command: field required (add command)",
        ),
        (
            "mcp",
            "servers: {a: {transport: stdio, command: x, comand: y}}",
            "servers.a.comand: unknown key (correct or remove it)",
        ),
        (
            "mcp",
            "servers: {a: {command: x}}",
            "servers.a: transport is missing (use one of stdio, http, sse)",
        ),
        (
            "mcp",
            "servers: {a: {transport: ftp}}",
            "servers.a: unknown transport (use one of stdio, http, sse)",
        ),
        (
            "mcp",
            "servers: {a: {transport: stdio, command: x, url: 'http://x'}}",
            "servers.a.url: unknown key (correct or remove it)",
        ),
        (
            "mcp",
            "servers: {a: {transport: stdio, command: x, env: {PORT: 80}}}",
            "servers.a.env.PORT: input should be a valid string (put it in quotes)",
        ),
        (
            "mcp",
            "servers: {a: {transport: stdio, command: x, env: {MY_TOKEN: abc}}}",
            "servers.a.env: the secret MY_TOKEN must not be written out "
            "(write ${NAME} and set NAME in the environment)",
        ),
        (
            "mcp",
            "servers: {a: {transport: http, url: 'http://me:pw@x'}}",
            "servers.a.url: the password must not be written out "
            "(write ${NAME} and set NAME in the environment)",
        ),
        (
            "mcp",
            "servers: {a: {transport: http, url: 'x.example/mcp'}}",
            "servers.a.url: the URL must begin with http:// or https://",
        ),
        (
            "mcp",
            "servers: {a: {transport: http, url: 'http://x', headers: {X: '${no-name}'}}}",
            "servers.a.headers.X: a reference must have the form ${NAME}",
        ),
        (
            "mcp",
            "servers: {a: {transport: stdio, command: x, call_timeout_s: true}}",
            "servers.a.call_timeout_s: input should be a valid number "
            "(write a number, without quotes)",
        ),
        (
            "mcp",
            "servers: {a b: {transport: stdio, command: x}}",
            "servers.a b: string should match pattern '^[A-Za-z][A-Za-z0-9_-]*$' "
            "(begin with a letter; use letters, digits and _)",
        ),
        ("mcp", "servers: [a]", "servers: must hold keys and values"),
        ("mcp", "[a]", "must hold keys and values"),
        ("mcp", "server: {}", "server: unknown key (correct or remove it)"),
        (
            "models",
            "models: {a: {model: x, api_key: sk-live-123}}",
            "models.a.api_key: a secret must not be written out "
            "(write ${NAME} and set NAME in the environment)",
        ),
        (
            "models",
            "models: {a: {model: x, params: {extra_headers: {Authorization: Bearer x}}}}",
            "models.a.params: the secret extra_headers.Authorization must not be written out "
            "(write ${NAME} and set NAME in the environment)",
        ),
        (
            "models",
            "models: {fast: {model: x, fallbacks: [slo]}, slow: {model: y}}",
            "models.fast.fallbacks: there is no model 'slo' (did you mean 'slow'?)",
        ),
        (
            "models",
            "models: {a: {model: x, fallbacks: [b]}, b: {model: y, fallbacks: [c]},"
            " c: {model: z, fallbacks: [b]}}",
            "models.b.fallbacks: b -> c -> b is a circle (remove one of these fallbacks)",
        ),
        (
            "agents",
            "agents: {a: {model: gpt}}",
            "agents.a.model: there is no model 'gpt' (none is configured; a model that is not in "
            "models.yaml is written with its provider, openai/gpt-4o)",
        ),
        (
            "agents",
            "agents: {a: {retry: patient}}",
            "agents.a.retry: there is no retry policy 'patient' (none is configured)",
        ),
        (
            "agents",
            "agents: {a: {mcp_servers: [docs]}}",
            "agents.a.mcp_servers: there is no MCP server 'docs' (none is configured)",
        ),
        (
            "retry",
            "policies: {default: {max_retries: -1}}",
            "policies.default.max_retries: input should be greater than or equal to 0",
        ),
        (
            "retry",
            "policies: {default: {max_delay_s: 0.5}}",
            "policies.default: max_delay_s must not be less than initial_delay_s",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_key_reason_and_remedy(
    tmp_path: Path, file: str, text: str, message: str
) -> None:
    write(tmp_path, **{file: text})
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(tmp_path)
    assert str(caught.value) == f"{tmp_path / file}.yaml: {message}"


def test_all_that_is_wrong_in_a_file_is_said_at_once(tmp_path: Path) -> None:
    write(tmp_path, mcp="servers: {a: {transport: stdio, comand: x}}")
    with pytest.raises(
        ConfigurationError, match=r"a\.command: .*; servers\.a\.comand: unknown key"
    ):
        load_configuration(tmp_path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("servers: {", "not valid YAML"),
        ("servers:\n  a: {transport: stdio, command: x}\n  a: {}\n", "the key 'a' is given twice"),
        ("servers: !!python/object:os.system {}", "not valid YAML"),
    ],
)
def test_bad_yaml_is_refused_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    write(tmp_path, mcp=text)
    with pytest.raises(ConfigurationError, match=r"mcp\.yaml: .*line \d+") as caught:
        load_configuration(tmp_path)
    assert reason in str(caught.value)


def test_anchors_and_merges_work(tmp_path: Path) -> None:
    write(
        tmp_path,
        models="models: {a: &a {model: x, timeout_s: 5}, b: {<<: *a, model: y}}",
    )
    assert load_configuration(tmp_path).models["b"] == ModelRecord(model="y", timeout_s=5)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "retry.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match=r"retry\.yaml: cannot be read"):
        load_configuration(tmp_path)


def test_a_secret_that_was_written_out_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    write(tmp_path, models="models: {a: {model: x, api_key: sk-live-123}}")
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(tmp_path)
    assert (
        "sk-live-123" not in f"{caught.value} {caught.value.__cause__!r} {caught.value.__cause__}"
    )


def test_records_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        RetryRecord().max_retries = 5  # type: ignore[misc]


def test_files_are_read_again_only_when_they_have_changed(tmp_path: Path) -> None:
    write(tmp_path, retry="policies: {default: {max_retries: 1}}")
    files = ConfigurationFiles(tmp_path)
    first = files.current()
    assert files.current() is first
    write(tmp_path, retry="policies: {default: {max_retries: 22}}")
    assert files.current().retry_policy("any").max_retries == 22
    (tmp_path / "retry.yaml").unlink()
    assert files.current() == Configuration()


def test_an_edit_of_the_same_length_is_seen(tmp_path: Path) -> None:
    write(tmp_path, retry="policies: {default: {max_retries: 1}}")
    files = ConfigurationFiles(tmp_path)
    write(tmp_path, retry="policies: {default: {max_retries: 2}}")
    os.utime(tmp_path / "retry.yaml", ns=(0, 1))
    assert files.current().retry_policy("any").max_retries == 2


def test_after_a_bad_edit_the_last_good_configuration_stays_and_it_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, retry="policies: {default: {max_retries: 1}}")
    files = ConfigurationFiles(tmp_path)
    good = files.current()
    write(tmp_path, retry="policies: {default: {max_retries: many}}")
    with caplog.at_level(logging.ERROR):
        assert files.current() is files.current() is good
    assert [record.getMessage() for record in caplog.records] == [
        "configuration not changed, because of an error: "
        f"{tmp_path}/retry.yaml: policies.default.max_retries: input should be a valid integer "
        "(write a number, without quotes)"
    ]
    write(tmp_path, retry="policies: {default: {max_retries: 7}}")
    assert files.current().retry_policy("any").max_retries == 7


def test_files_that_are_wrong_at_the_start_are_refused(tmp_path: Path) -> None:
    write(tmp_path, retry="policies: 1")
    with pytest.raises(ConfigurationError):
        ConfigurationFiles(tmp_path)


def test_the_directory_is_config_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ODA_CONFIG_DIR", raising=False)
    assert default_directory() == Path("config")
    monkeypatch.setenv("ODA_CONFIG_DIR", "/etc/oda")
    assert default_directory() == Path("/etc/oda")


def test_the_files_of_this_repository_are_right() -> None:
    configuration = load_configuration(REPOSITORY / "config")
    search = configuration.mcp_servers["search"]
    assert isinstance(search, StdioMcpServerRecord)
    assert search.cwd == REPOSITORY


def test_importing_the_package_loads_no_framework() -> None:
    program = (
        "import sys, oda.config;"
        "print([name for name in ('litellm', 'google.adk', 'mcp') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert output.stdout.strip() == "[]"
