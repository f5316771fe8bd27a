"""The templates that are shipped, and what is wrong with others."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.researcher.agent import workers_for
from agents.researcher.templates import Templates, templates
from oda.errors import ConfigurationError, InvalidRequestError
from oda.tools.capabilities import CapabilityRegistry

SHIPPED = Path(__file__).parents[2] / "config" / "templates"
MINE: dict[str, Any] = {
    "name": "mine",
    "title": {"en": "Mine", "zh": "我的"},
    "description": {"en": "Mine.", "zh": "我的。"},
    "agent_mode": False,
    "options": {
        "tone": {"type": "string", "enum": ["dry", "warm"], "default": "dry", "description": "how"},
        "parts": {"type": "integer", "minimum": 1, "default": 3, "description": "how many"},
        "deep": {"type": "boolean", "default": False, "description": "whether"},
        "share": {"type": "number", "maximum": 1, "default": 0.5, "description": "how much"},
    },
    "prompt": "{request} {tone} {parts} {deep} {share} {date} {{x}}",
}


def write(folder: Path, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    content = {**MINE, **changes}
    (folder / "mine.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))
    return folder


def test_eight_templates_are_shipped() -> None:
    by_name = {template.name: template for template in Templates(SHIPPED)}
    agents = {"deep-research", "data-analysis", "translate-document"}
    singles = {"daily-brief", "tutorial", "product-review", "slides"}
    assert set(by_name) == agents | singles | {"video-analysis"}
    assert {name for name, one in by_name.items() if one.agent_mode} == agents
    assert {name for name, one in by_name.items() if one.search} == {
        "daily-brief",
        "product-review",
    }
    assert by_name["video-analysis"].flow == "video"
    for template in by_name.values():
        assert "article.html" in template.result
        for name in template.capabilities:
            CapabilityRegistry().get(name)


@pytest.mark.parametrize("template", list(Templates(SHIPPED)), ids=lambda one: one.name)
def test_prompt_is_filled_in(template: Any) -> None:
    prompt = template.prompt_for(
        "Write about {braces}.",
        options=template.checked_options({}),
        date="2026-05-04",
        files=["input/a.csv"],
        search_results="<found>",
    )
    assert "Write about {braces}." in prompt and "2026-05-04" in prompt
    assert ("<found>" in prompt) is template.search
    writes = template.agent_mode and "*{upload}" not in template.result
    assert ("output/article.html" in prompt) is writes


def test_template_of_the_configuration_takes_the_place_of_a_shipped_one(tmp_path: Path) -> None:
    both = Templates(write(tmp_path), SHIPPED)
    assert len(list(both)) == 9
    (tmp_path / "slides.yaml").write_text(yaml.safe_dump({**MINE, "name": "slides"}))
    assert Templates(tmp_path, SHIPPED).get("slides").title.en == "Mine"


def test_shipped_templates_are_there_wherever_a_process_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    templates.cache_clear()
    assert templates().get("slides").name == "slides"


def test_unknown_template_is_answered_with_those_that_exist() -> None:
    with pytest.raises(InvalidRequestError, match=r"'slide'.*'slides'.*daily-brief.*tutorial"):
        Templates(SHIPPED).get("slide")


def test_options_are_checked_and_completed(tmp_path: Path) -> None:
    mine = Templates(write(tmp_path)).get("mine")
    given: dict[str, Any] = {"tone": "warm", "parts": 5, "deep": True, "share": 1}
    options = mine.checked_options(given)
    assert options == given
    assert mine.checked_options({}) == {"tone": "dry", "parts": 3, "deep": False, "share": 0.5}
    assert mine.prompt_for("go", options=options, date="d") == "go warm 5 yes 1 d {x}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tune": 1}, r"options\.tune: .*no such option.*'tone'"),
        ({"tone": "loud"}, r"options\.tone: it must be one of 'dry', 'warm', not 'loud'"),
        ({"tone": 1}, r"options\.tone: it must be a string"),
        ({"tone": " "}, r"options\.tone: .*1 to 200"),
        ({"parts": 0}, r"options\.parts: it must be at least 1"),
        ({"parts": 2.5}, r"options\.parts: it must be a whole number"),
        ({"parts": True}, r"options\.parts: it must be a whole number"),
        ({"deep": "yes"}, r"options\.deep: it must be true or false"),
        ({"share": float("nan")}, r"options\.share: it must be at most 1"),
        ({"share": None}, r"options\.share: it must be a number"),
    ],
)
def test_wrong_option_is_named(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        Templates(write(tmp_path)).get("mine").checked_options(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"promt": "x"}, r"mine\.yaml: promt: unknown key"),
        ({"name": "other"}, r"mine\.yaml: name: 'other'"),
        ({"title": {"en": "x"}}, r"title\.zh: field required"),
        ({"agent_mode": "yes"}, r"agent_mode: .*bool"),
        ({"agent_mode": True}, r"capabilities: an agent needs some"),
        ({"capabilities": ["base"]}, r"capabilities: "),
        ({"search": True}, r"\{search_results\}"),
        ({"prompt": "{request} {nothing}"}, r"prompt: there is no \{nothing\}; there are "),
        ({"prompt": "{request.x}"}, r"prompt: \{request\.x\} is no placeholder"),
        ({"prompt": "{request} {"}, r"mine\.yaml: .*"),
        ({"prompt": "{tone}"}, r"\{request\} is missing"),
        ({"accepts": {"required": True}}, r"accepts: a file is required"),
        ({"accepts": {"suffixes": ["csv"]}}, r"accepts\.suffixes\.0: "),
        ({"result": []}, r"result: "),
        (
            {"options": {"n": {"type": "integer", "default": "x", "description": "x"}}},
            r"options\.n: 'x' does not fit: it must be a whole number",
        ),
        (
            {"options": {"date": {"type": "string", "default": "x", "description": "x"}}},
            r"options\.date: this name has a meaning",
        ),
    ],
)
def test_wrong_file_is_refused_with_file_and_key(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Templates(write(tmp_path, **changes))


def test_files_are_checked_before_and_after() -> None:
    translation = Templates(SHIPPED).get("translate-document")
    translation.check_files(["a.DOCX"])
    for wrong, message in {
        (): "needs a file",
        ("a.txt",): "'a.txt'",
        ("a.docx", "b.pdf"): "at most 1",
    }.items():
        with pytest.raises(InvalidRequestError, match=message):
            translation.check_files(wrong)
    assert translation.missing_results(["article.html", "a.en.docx"], ["a.DOCX"]) == []
    assert translation.missing_results(["a.en.pdf"], ["a.docx"]) == ["article.html", "*.docx"]


@pytest.mark.parametrize("name", ["talk", "search", "publish", "user", "researcher"])
def test_an_agent_of_ones_own_cannot_have_the_name_of_a_node(tmp_path: Path, name: str) -> None:
    write(tmp_path, agent_mode=True, capabilities=["base"], name=name)
    (tmp_path / "mine.yaml").rename(tmp_path / f"{name}.yaml")
    with pytest.raises(ConfigurationError, match=name):
        workers_for(Templates(tmp_path))
    assert list(workers_for(Templates(write(tmp_path / "other")))) == []
