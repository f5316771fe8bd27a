"""Where settings come from, which source wins, and how mistakes are explained."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from oda.errors import ConfigurationError
from oda.settings import Settings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no variable of oda in the environment."""
    for name in os.environ:
        if name.startswith("ODA_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(home: Path, name: str, text: str) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_without_any_source_there_are_defaults_and_no_model(home: Path) -> None:
    settings = Settings.load()
    assert settings.model is None
    assert settings.turn.timeout_s == 600
    assert settings.resolved_database_url == f"sqlite:///{home / '.oda' / 'oda.db'}"


def test_argument_beats_environment_beats_dotenv_beats_yaml(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, "config/oda.yaml", "model: yaml\n")
    assert Settings.load().model == "yaml"
    write(home, ".env", "ODA_MODEL=dotenv\n")
    assert Settings.load().model == "dotenv"
    monkeypatch.setenv("ODA_MODEL", "environment")
    assert Settings.load().model == "environment"
    assert Settings.load(model="argument").model == "argument"
    assert Settings.load(model=None).model == "environment"


def test_sources_are_merged_inside_a_group(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        home,
        "config/oda.yaml",
        "turn: {timeout_s: 5, model_calls: 7, retention_days: 9}\n"
        "retry: {max_retries: 5, jitter_s: 1}\n",
    )
    write(home, ".env", "ODA_TURN__MODEL_CALLS=8\nODA_RETRY__JITTER_S=0.5\n")
    monkeypatch.setenv("ODA_TURN__RETENTION_DAYS", "10")
    settings = Settings.load()
    turn = settings.turn
    assert (turn.timeout_s, turn.model_calls, turn.retention_days) == (5, 8, 10)
    assert settings.retry == {"max_retries": 5, "jitter_s": 0.5}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("ODA_RETRY__MAX_RETRIES", "5", lambda settings: settings.retry["max_retries"] == 5),
        ("ODA_RETRY__MULTIPLIER", "1.5", lambda settings: settings.retry["multiplier"] == 1.5),
        ("ODA_TURN__TIMEOUT_S", "2.5", lambda settings: settings.turn.timeout_s == 2.5),
        ("ODA_SESSION__MAX_LIVE", "3", lambda settings: settings.session.max_live == 3),
        ("ODA_BREAKER__PAUSE_S", "4", lambda settings: settings.breaker.pause_s == 4),
        ("ODA_MODEL_TIMEOUT_S", "8", lambda settings: settings.model_timeout_s == 8),
        ("ODA_DATA_DIR", "there", lambda settings: settings.data_dir == Path("there")),
        ("ODA_DATABASE_URL", "x://y", lambda settings: settings.resolved_database_url == "x://y"),
        ("oda_log_level", "info", lambda settings: settings.log_level == "info"),
    ],
)
def test_variable_sets_what_its_name_says(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, read: Callable[[Settings], bool]
) -> None:
    monkeypatch.setenv(name, value)
    assert read(Settings.load())


@pytest.mark.parametrize(
    ("url", "resolved"),
    [
        ("postgresql://h/n", "postgresql://h/n?prepare_threshold=none"),
        ("postgres://h/n?a=b", "postgres://h/n?a=b&prepare_threshold=none"),
        ("sqlite:///x.db", "sqlite:///x.db"),
    ],
)
def test_behind_a_pooler_postgresql_prepares_no_statements(url: str, resolved: str) -> None:
    behind = Settings.load(database_url=url, listen_url="postgresql://direct/n")
    assert behind.resolved_database_url == resolved
    assert Settings.load(database_url=url).resolved_database_url == url


def test_configuration_directory_may_be_elsewhere(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, "first/oda.yaml", "model: first\n")
    write(home, "second/oda.yaml", "model: second\n")
    monkeypatch.setenv("ODA_CONFIG_DIR", "first")
    assert Settings.load().model == "first"
    assert Settings.load(config_dir=home / "second").model == "second"


@pytest.mark.parametrize("text", ["", "# model: x\n", "turn: {timeout_s: null}\n"])
def test_empty_file_and_empty_values_of_the_file_are_fine(home: Path, text: str) -> None:
    write(home, "config/oda.yaml", text)
    assert Settings.load().turn.timeout_s == (None if "null" in text else 600)


def test_empty_variable_counts_as_not_set(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, "config/oda.yaml", "model: yaml\n")
    monkeypatch.setenv("ODA_MODEL", "")
    assert Settings.load().model == "yaml"


def test_none_switches_a_limit_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODA_SESSION__RECENT_EVENTS", "none")
    monkeypatch.setenv("ODA_TURN__TIMEOUT_S", "none")
    assert Settings.load().session.recent_events is None
    assert Settings.load().turn.timeout_s is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ODA_TURN__TIMEOUT_S", "soon"),
        ("ODA_TURN__TIMEOUT_S", "-1"),
        ("ODA_TURN__TIMEOUT_S", "nan"),
        ("ODA_TURN__TIMEOUT_S", "inf"),
        ("ODA_LOG_LEVEL", "loud"),
        ("ODA_LOG_FORMAT", "xml"),
        ("ODA_TURN__MODEL_CALLS", "0"),
        ("ODA_SESSION__RECENT_EVENTS", "3"),
        ("ODA_RETRY__MAX_RETRIES", "often"),
        ("ODA_TOOL_THREADS", "1000"),
        ("ODA_BREAKER__FAILURES", "1.5"),
        ("ODA_TURN__TIMEOUT", "10"),
    ],
)
def test_wrong_variable_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=rf"^setting {name}: \w+") as error:
        Settings.load()
    assert error.value.remedy
    assert error.value.__cause__


def test_wrong_value_in_the_file_is_named_like_its_variable(home: Path) -> None:
    write(home, "config/oda.yaml", "turn:\n  timeout_s: soon\n")
    with pytest.raises(ConfigurationError, match="ODA_TURN__TIMEOUT_S") as error:
        Settings.load()
    assert "config/oda.yaml" in str(error.value)


def test_group_that_is_not_json_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODA_TURN", "{timeout")
    with pytest.raises(ConfigurationError, match='"turn"'):
        Settings.load()


@pytest.mark.parametrize("content", [b"- a\n- b\n", b"just words\n", b"model: \xff\xfe\n"])
def test_file_of_another_shape_is_a_configuration_error(home: Path, content: bytes) -> None:
    write(home, "config/oda.yaml", "")
    (home / "config/oda.yaml").write_bytes(content)
    with pytest.raises(ConfigurationError):
        Settings.load()


@pytest.mark.parametrize("text", ["turn: [1", "a: b: c", "a: \x00"])
def test_file_that_is_not_yaml_is_a_configuration_error(home: Path, text: str) -> None:
    write(home, "config/oda.yaml", text)
    with pytest.raises(ConfigurationError, match=r"oda\.yaml"):
        Settings.load()


def test_misspelt_setting_in_the_file_is_a_configuration_error(home: Path) -> None:
    write(home, "config/oda.yaml", "modle: x\n")
    with pytest.raises(ConfigurationError, match="modle"):
        Settings.load()


def test_key_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODA_MODEL_API_KEY", "sesame-123")
    settings = Settings.load()
    assert settings.model_api_key is not None
    assert settings.model_api_key.get_secret_value() == "sesame-123"
    assert "sesame" not in repr(settings)
    monkeypatch.setenv("ODA_TURN__TIMEOUT_S", "sesame-123")
    with pytest.raises(ConfigurationError) as error:
        Settings.load()
    assert "sesame" not in f"{error.value} {error.value.__cause__}"


@pytest.mark.parametrize("url", ["memory://", "redis://h", "async+redis://:pw@h:1/2", "rediss://h"])
def test_rate_limits_are_counted_here_or_in_redis(url: str) -> None:
    assert Settings.load(limits={"storage": url}).limits.storage == url


@pytest.mark.parametrize("url", ["memory", "redis", "redis://", "redis://:pw@h:x", "mongodb://h"])
def test_rate_limits_are_counted_nowhere_else(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODA_LIMITS__STORAGE", url)
    with pytest.raises(
        ConfigurationError, match=r"ODA_LIMITS__STORAGE.*redis://localhost"
    ) as error:
        Settings.load()
    assert "pw" not in str(error.value)


def test_settings_cannot_be_changed() -> None:
    settings = Settings.load()
    with pytest.raises(ValidationError):
        settings.model = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        settings.turn.timeout_s = 1  # type: ignore[misc]
