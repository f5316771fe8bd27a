"""A resume as PDF: fonts for Chinese, pages that break well, and what happens without the extra."""

import io
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pdfplumber
import pytest

from mcp_tools.resume import JsonObject, load_resume
from mcp_tools.resume.export import Template, render
from tests.support.export_readers import pdf_pages
from tests.support.full_resumes import CHINESE, ENGLISH

ROOT = Path(__file__).parents[2]
TEMPLATES: tuple[Template, ...] = ("classic", "modern")
HEADINGS = {"Work Experience", "Skills", "Awards", "References"}


def python(code: str, *, without: tuple[str, ...] = (), font_paths: str = "") -> str:
    """Run code in a fresh interpreter without some packages, on a machine without fonts."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({without!r}))\n"
    result = subprocess.run(
        [sys.executable, "-c", hidden + code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            **os.environ,
            "TYPST_FONT_PATHS": font_paths,
            "TYPST_IGNORE_SYSTEM_FONTS": "true",
        },
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def attempt(document: JsonObject, format: str) -> str:
    return (
        "from mcp_tools.resume import ResumeError, load_resume\n"
        "from mcp_tools.resume.export import render\n"
        f"try: print(len(render(load_resume({document!r}), {format!r}).content) > 1000)\n"
        "except ResumeError as error:\n"
        "    print(error.code, error.message('zh'), error, sep='\\n')\n"
    )


@pytest.mark.parametrize("template", TEMPLATES)
def test_chinese_is_set_in_an_embedded_chinese_font(template: Template) -> None:
    content = render(load_resume(CHINESE), "pdf", template=template).content
    with pdfplumber.open(io.BytesIO(content)) as pdf:
        assert (pdf.metadata["Title"], pdf.metadata["Author"]) == ("林晓雨 · 简历", "林晓雨")
        fonts = {
            char["fontname"]
            for page in pdf.pages
            for char in page.chars
            if "一" <= char["text"] <= "鿿"
        }
    families = ("Noto", "SourceHan", "Songti", "SimSun")
    assert fonts
    assert all(any(family in font for family in families) for font in fonts)
    assert b"/FontFile" in content


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("jobs", range(1, 26, 3))
def test_no_heading_stands_alone_at_the_bottom_of_a_page(template: Template, jobs: int) -> None:
    entry: JsonObject = {"name": "Acme", "position": "Engineer", "highlights": ["one", "two"]}
    document: JsonObject = {
        "work": [entry] * jobs,
        "skills": [{"name": "Go", "keywords": ["x"]}] * 3,
        "awards": [{"title": "Prize"}],
        "references": [{"name": "Ann", "reference": "Good. " * 300}],
    }
    content = render(load_resume(document), "pdf", template=template).content
    for page in pdf_pages(content):
        text = page.text.split("\n")
        lines = [line.strip() for line in text if line.strip() and " / " not in line]
        assert lines[-1].title() not in HEADINGS
        assert lines[-1] != "Acme"


def test_threads_may_render_at_the_same_time() -> None:
    resume = load_resume(ENGLISH)
    with ThreadPoolExecutor(4) as pool:
        contents = set(pool.map(lambda _: render(resume, "pdf").content, range(12)))
    assert len(contents) == 1


def test_importing_the_domain_and_its_export_loads_none_of_the_optional_packages() -> None:
    loaded = python(
        "import mcp_tools.resume.export, sys\n"
        "print({'typst', 'docx', 'jinja2', 'lxml'} & set(sys.modules))"
    )
    assert loaded == "set()"


@pytest.mark.parametrize(
    ("format", "package", "name"),
    [("pdf", "typst", "PDF"), ("docx", "docx", "DOCX"), ("html", "jinja2", "HTML")],
)
def test_a_format_whose_package_is_missing_names_the_extra(
    format: str, package: str, name: str
) -> None:
    code, chinese, english = python(attempt({}, format), without=(package,)).split("\n")
    assert code == "export_not_installed"
    assert "oda[resume]" in chinese
    assert name in english
    assert "pip install 'oda[resume]'" in english


def test_without_any_chinese_font_a_chinese_pdf_is_refused_and_an_english_one_made() -> None:
    without = ("justmytype_intl_cjk",)
    code, chinese, english = python(
        attempt({"basics": {"name": "张三"}}, "pdf"), without=without
    ).split("\n")
    assert code == "export_no_font"
    for remedy in ("oda[resume]", "fonts-noto-cjk", "TYPST_FONT_PATHS"):
        assert remedy in chinese
        assert remedy in english
    assert python(attempt({"basics": {"name": "Ann"}}, "pdf"), without=without) == "True"


def test_a_folder_of_fonts_can_be_named_instead(tmp_path: Path) -> None:
    package = find_spec("justmytype_intl_cjk")
    assert package is not None
    assert package.origin is not None
    (font,) = Path(package.origin).parent.rglob("NotoSansTC*.ttf")
    shutil.copy(font, tmp_path / "any-name.ttf")
    made = python(
        attempt({"basics": {"name": "張三"}}, "pdf"),
        without=("justmytype_intl_cjk",),
        font_paths=os.pathsep.join(("/does/not/exist", str(tmp_path))),
    )
    assert made == "True"


@pytest.mark.parametrize("template", TEMPLATES)
def test_chinese_names_in_an_english_resume_have_chinese_forms(template: Template) -> None:
    document: JsonObject = {"basics": {"name": "Wei Zhang 张伟", "summary": "It’s “good” at 腾讯."}}
    content = render(load_resume(document), "pdf", template=template, language="en").content
    with pdfplumber.open(io.BytesIO(content)) as pdf:
        chars = pdf.pages[0].chars
    fonts = {char["text"]: char["fontname"].partition("+")[2].partition("-")[0] for char in chars}
    assert {fonts[char] for char in "伟腾讯"} == {fonts["腾"]}
    assert not any(region in fonts["腾"] for region in ("KR", "JP"))
    assert fonts["’"] == fonts["“"] == fonts["g"]
