"""A resume as a file: JSON, Markdown, HTML, DOCX or PDF.

    render(resume, "pdf", template="modern").content  ->  b"%PDF-1.7…"

Every format but JSON shows the same `Page` (see `page.py`), so a fact that one of them shows, all
of them show. Nothing is fetched: what a resume only points to stays a link.

HTML, DOCX and PDF need `pip install 'oda[resume]'`. It brings a freely licensed font for Chinese,
Japanese and Korean, see `fonts.py`.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from mcp_tools.resume.document import Resume
from mcp_tools.resume.labels import Language

from .errors import ExportError, MissingExtraError, MissingFontError

__all__ = [
    "ExportError",
    "Format",
    "MissingExtraError",
    "MissingFontError",
    "Rendered",
    "Template",
    "render",
]

Format = Literal["json", "md", "html", "docx", "pdf"]
Template = Literal["classic", "modern"]


@dataclass(frozen=True)
class Rendered:
    """A file: its bytes, its media type, and the ending of its name with the dot (`.pdf`)."""

    content: bytes
    media_type: str
    suffix: str


_MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pdf": "application/pdf",
}


def render(
    resume: Resume,
    format: Format,
    *,
    template: Template = "classic",
    language: Language | None = None,
) -> Rendered:
    """Render a resume as a file. Blocks for 10 ms to a second: call it in a thread.

    `template` is the design of HTML, DOCX and PDF. `language` is that of headings and dates; by
    default the language in which most of the resume is written. The same resume gives the same
    bytes on the same machine.

    Raises:
        MissingExtraError: the format needs `oda[resume]`, which is not installed.
        MissingFontError: a PDF needs a font for Chinese, Japanese or Korean and there is none.
    """
    return Rendered(
        _content(resume, format, template, language), _MEDIA_TYPES[format], f".{format}"
    )


def _content(
    resume: Resume, format: Format, template: Template, language: Language | None
) -> bytes:
    if format == "json":
        from .json import to_json

        return to_json(resume)
    from .page import page_of

    page = page_of(resume, language)
    match format:
        case "md":
            from .markdown import to_markdown

            return to_markdown(page)
        case "html":
            from .html import to_html

            return to_html(page, template)
        case "docx":
            from .word import to_docx

            return to_docx(page, template)
        case "pdf":
            from .pdf import to_pdf

            return to_pdf(page, template)
        case _:
            assert_never(format)
