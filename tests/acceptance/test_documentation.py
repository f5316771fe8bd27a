"""The documentation's code samples and the examples do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "embed.py": "腾讯",
    "embed_sync.py": "Google",
    "watch_retries.py": "Retry attempt 2/3 for agent execution",
}
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: str) -> list[str]:
    return _BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))


def run(code: str | Path, data: Path) -> str:
    arguments = [str(code)] if isinstance(code, Path) else ["-c", code]
    env = {key: value for key, value in os.environ.items() if not key.startswith("ODA_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=ROOT,
        env={**env, "ODA_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_says_what_it_is_for(example: Path, tmp_path: Path) -> None:
    assert SAYS[example.name] in run(example, tmp_path)


@pytest.mark.parametrize("number", range(len(blocks("README.md"))))
def test_a_python_sample_of_the_readme_runs(number: int, tmp_path: Path) -> None:
    run(blocks("README.md")[number], tmp_path)


def test_the_readme_names_only_files_that_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)\)", readme):
        assert (ROOT / link).exists(), link


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = [path for path in (ROOT / "oda").iterdir() if path.is_dir() and path.name[0] != "_"]
    for room in rooms:
        assert f"`oda/{room.name}/`" in page, room.name


def test_each_guarantee_stands_in_the_readme_with_its_tests() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (G\d+) \| .+ \| (.+) \|$", readme, re.MULTILINE)
    assert [name for name, _ in rows] == [f"G{number}" for number in range(1, 11)]
    for name, tests in rows:
        assert "](tests/" in tests, name
