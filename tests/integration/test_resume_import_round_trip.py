"""What the export writes, the import reads: the same facts, but for those listed here."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_tools.resume import JsonObject, load_resume
from mcp_tools.resume.export import Format, Template, render
from mcp_tools.resume.importing import import_resume
from tests.support.resume_facts import extra, missed

RESUMES: dict[str, JsonObject] = yaml.safe_load(
    Path(__file__).with_name("resume_round_trip.yaml").read_text(encoding="utf-8")
)
LOST = {
    "zh": ["basics.location.region: '上海' is None"],
    "en": [],
}
"""What is lost: a region of the city's name, which the export does not say twice."""

FILES: list[tuple[Format, Template]] = [
    ("md", "classic"),
    ("docx", "classic"),
    ("docx", "modern"),
    ("pdf", "classic"),
    ("pdf", "modern"),
]


@pytest.mark.parametrize("language", RESUMES)
@pytest.mark.parametrize(("format", "template"), FILES)
async def test_an_exported_resume_comes_back(
    language: str, format: Format, template: Template
) -> None:
    resume = load_resume(RESUMES[language])
    file = render(resume, format, template=template)
    imported = await import_resume(file.content, filename=f"cv{file.suffix}")
    found: Any = imported.resume.to_json()
    assert imported.format == format
    assert missed(resume.to_json(), found) == LOST[language]
    assert extra(resume.to_json(), found) == []
    assert imported.warnings == ()


@pytest.mark.parametrize("language", RESUMES)
async def test_json_comes_back_whole(language: str) -> None:
    resume = load_resume(RESUMES[language])
    imported = await import_resume(render(resume, "json").content)
    assert imported.format == "json"
    assert missed(resume.to_json(), imported.resume.to_json()) == []


async def test_json_with_the_seeds_names_is_understood() -> None:
    document = {
        "basic": {"name": "张三"},
        "workExperience": [{"company": "腾讯", "description": "后端", "endDate": "至今"}],
        "education": [{"school": "清华大学", "major": "数学", "degree": "本科"}],
    }
    imported = await import_resume(json.dumps(document).encode())
    assert imported.resume.to_json() == {
        "basics": {"name": "张三"},
        "work": [{"name": "腾讯", "summary": "后端"}],
        "education": [{"institution": "清华大学", "area": "数学", "studyType": "本科"}],
    }
