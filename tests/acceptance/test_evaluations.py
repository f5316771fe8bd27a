"""The evaluation sets of the reference applications hold on their recorded answers."""

from pathlib import Path

import pytest

from oda.evaluation.cases import sets_of
from tests.support.oda_command import Home

ROOT = Path(__file__).parents[2]
SETS = [
    (file.parents[1].name, file.stem) for file in sorted(ROOT.glob("agents/*/evaluation/*.yaml"))
]


@pytest.mark.parametrize(("app", "name"), SETS)
async def test_a_set_passes_on_its_recorded_answers(app: str, name: str, tmp_path: Path) -> None:
    ended = await Home(tmp_path).run(
        "eval", app, "--set", name, "--recorded", "--agents", str(ROOT / "agents")
    )
    assert ended.code == 0, ended.stdout + ended.stderr
    assert "stale" not in ended.stdout


@pytest.mark.parametrize(("app", "name"), SETS)
def test_a_set_has_a_size_that_tells_something(app: str, name: str) -> None:
    cases = sets_of(app, ROOT / "agents" / app, name)[name].cases
    assert 20 <= len(cases) <= 60
    spoken = "".join(str(said.say) for case in cases for said in case.talk)
    assert any("\u4e00" <= character <= "\u9fff" for character in spoken)
