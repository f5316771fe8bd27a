"""Hashes of agents: changes of their files count, caches and copies do not."""

import os
from pathlib import Path

import pytest

from oda.agent.version import hash_of
from oda.turn.queue import queue_of


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    folder = tmp_path / "guide"
    (folder / "prompts").mkdir(parents=True)
    (folder / "agent.py").write_text("root_agent = 1\n")
    (folder / "prompts" / "guide.md").write_text("Be kind.\n")
    return folder


def test_a_change_of_any_file_changes_it(agent: Path) -> None:
    before = hash_of(agent)
    assert before == hash_of(agent)
    (agent / "prompts" / "guide.md").write_text("Be brief.\n")
    changed = hash_of(agent)
    assert changed != before
    (agent / "prompts" / "guide.md").rename(agent / "prompts" / "other.md")
    assert hash_of(agent) not in (before, changed)


def test_caches_and_hidden_files_do_not_count(agent: Path) -> None:
    before = hash_of(agent)
    for name in ("__pycache__", ".adk", ".git"):
        (agent / name).mkdir()
        (agent / name / "file").write_text("x")
    (agent / ".env").write_text("KEY=1\n")
    assert hash_of(agent) == before


def test_what_is_no_file_or_cannot_be_read_stops_nothing(agent: Path) -> None:
    before = hash_of(agent)
    (agent / "nowhere").symlink_to(agent / "missing")
    (agent / "itself").symlink_to(agent)
    os.mkfifo(agent / "pipe")
    assert hash_of(agent) == before


def test_a_copy_elsewhere_has_the_same(agent: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "guide"
    (copy / "prompts").mkdir(parents=True)
    for name in ("prompts/guide.md", "agent.py"):
        (copy / name).write_bytes((agent / name).read_bytes())
    assert hash_of(copy) == hash_of(agent)


def test_files_that_exchange_their_contents_change_it(agent: Path) -> None:
    before = hash_of(agent)
    (agent / "agent.py").write_text("Be kind.\n")
    (agent / "prompts" / "guide.md").write_text("root_agent = 1\n")
    assert hash_of(agent) != before


def test_an_agent_of_one_file_has_one(tmp_path: Path) -> None:
    file = tmp_path / "guide.py"
    file.write_text("root_agent = 1\n")
    before = hash_of(file)
    file.write_text("root_agent = 2\n")
    assert hash_of(file) != before


@pytest.mark.parametrize("app", ["cv", "a" * 38, "a" * 39, "a" * 128, "简历" * 20])
def test_queues_of_apps_and_versions_are_different_and_short(app: str) -> None:
    names = [queue_of(app), queue_of(app, "1"), queue_of(app, "2"), queue_of(f"{app}b")]
    assert len(set(names)) == 4
    assert all(len(name.encode()) <= 39 for name in names)
