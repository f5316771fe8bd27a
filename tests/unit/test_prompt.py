"""Prompts as files."""

from pathlib import Path

import pytest

from oda import Prompt
from oda.agent.prompt import prompts_in
from oda.errors import ConfigurationError


def prompt(folder: Path, text: str) -> Prompt:
    file = folder / "prompts" / "greeting.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"---\nversion: 2\nabout: Greets.\n---\n{text}\n", encoding="utf-8")
    (read,) = prompts_in(folder)
    return read


def test_a_file_is_a_name_a_version_and_a_text(tmp_path: Path) -> None:
    read = prompt(tmp_path, 'Be kind.\n---\nAnswer {"so": 1}.')
    assert (read.name, read.version, read.about) == ("greeting", 2, "Greets.")
    assert read.text == 'Be kind.\n---\nAnswer {"so": 1}.\n'


def test_its_places_are_filled_all_and_no_others(tmp_path: Path) -> None:
    read = prompt(tmp_path, "Speak $language for $$5.")
    assert read.filled(language="Chinese") == "Speak Chinese for $5.\n"
    with pytest.raises(ConfigurationError, match=r"places \['language'\], and is given \[\]"):
        read.filled()
    with pytest.raises(ConfigurationError, match="is given"):
        read.filled(language="Chinese", tone="warm")


def test_another_text_has_another_digest(tmp_path: Path) -> None:
    assert prompt(tmp_path, "Be kind.").digest != prompt(tmp_path, "Be brief.").digest


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Be kind.", "no version"),
        ("x\n---\nversion: 1\n---\nBe kind.", "no version"),
        ("---\nversion: one\n---\nBe kind.", "version: "),
        ("---\nabout: it\n---\nBe kind.", "version: field required"),
        ("---\nversion: [\n---\nBe kind.", "not valid YAML"),
        ("---\nversion: 1\n---\n5 $ a day", "a \\$ stands"),
    ],
)
def test_another_file_is_refused_with_its_name(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "greeting.md"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"greeting.md: {said}"):
        Prompt.read(file)
    with pytest.raises(ConfigurationError, match=r"none\.md: cannot be read"):
        Prompt.read(tmp_path / "none.md")
