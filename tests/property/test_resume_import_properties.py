"""Whatever somebody sends, it becomes a resume or a friendly error."""

import asyncio
import io
import json
import zipfile

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_tools.resume import ResumeError, load_resume
from mcp_tools.resume.importing import import_resume

WORDS = [
    *(
        "张伟",
        "工作经历",
        "教育背景",
        "专业技能",
        "项目经验",
        "2019.03-2021.06",
        "至今",
        "后端工程师",
        "北京",
    ),
    *(
        "腾讯科技有限公司",
        "电话：13800138000",
        "a@b.cn",
        "本科",
        "Work Experience",
        "Education",
        "Skills",
    ),
    *("Languages", "Mar 2019", "Present", "Google", "Engineer", "at", "Inc.", "GPA: 3.9", "B.Sc."),
    *(
        "https://x.io/y",
        "-",
        "•",
        "1.",
        "#",
        "##",
        "**",
        "|",
        "·",
        "—",
        "(",
        "）",
        "[x](y)",
        "【",
        "】",
    ),
    *(
        "：",
        ",",
        "，",
        "\t",
        "```",
        "<b>",
        "2019-",
        "13/2019",
        "2019-13",
        "99年",
        "\u3000",
        "\u200b",
    ),
]
words = st.sampled_from(WORDS) | st.text(max_size=6)
lines = st.lists(words, max_size=7).map(" ".join)
resumes = st.lists(lines, max_size=25).map("\n".join)
values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["basics", "work", "name", "skills", "x"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


def accepts(content: bytes, filename: str | None) -> None:
    """Import, or fail with an error for people in both languages."""
    try:
        imported = asyncio.run(import_resume(content, filename=filename))
    except ResumeError as error:
        assert error.message("zh") and error.message("en")
        return
    document = imported.resume.to_json()
    assert load_resume(json.loads(json.dumps(document))).to_json() == document
    assert not imported.resume.is_empty


names = st.sampled_from([None, "cv.txt", "cv.md", "cv.json", "cv.pdf", "../../etc/passwd", "\x00"])


@given(resumes, names)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_text_imports_or_is_refused(text: str, name: str | None) -> None:
    accepts(text.encode("utf-8", "replace"), name)


@given(st.text(), st.sampled_from(["utf-16", "gb18030", "utf-8-sig", "utf-32"]))
def test_any_encoding_imports_or_is_refused(text: str, encoding: str) -> None:
    accepts(("张伟\n" + text).encode(encoding, "ignore"), None)


@given(st.binary(max_size=400), names)
def test_any_bytes_import_or_are_refused(content: bytes, name: str | None) -> None:
    accepts(content.replace(b"%PDF-", b"").replace(b"PK", b""), name)


@given(values)
def test_any_json_imports_or_is_refused(value: object) -> None:
    accepts(json.dumps(value).encode(), "cv.json")


@given(st.binary(max_size=300), st.booleans())
@settings(max_examples=8)
def test_any_binary_file_imports_or_is_refused(content: bytes, is_pdf: bool) -> None:
    """These start a process each, so there are few."""
    accepts(b"%PDF-1.7\n" + content if is_pdf else zipped(content), None)


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("word/document.xml", content)
    return buffer.getvalue()


_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)


@given(
    st.sampled_from(
        ["2019年", "a.", "1", " ", "-", "@", "a@", "（", "[", "**", "2019-", "\t", "北京", "/"]
    )
)
def test_long_lines_take_bounded_time(unit: str) -> None:
    """A line of 100,000 signs of one kind does not make an expression run away."""
    accepts(("张伟\n工作经历\n" + unit * (99_000 // len(unit))).encode(), None)
