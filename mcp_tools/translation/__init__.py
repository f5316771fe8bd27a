"""Translating .docx, .xlsx and .pdf with their layout: programs for a sandbox, their records."""

from mcp_tools.translation.segments import (
    Segment,
    TranslationError,
    batch,
    check_translations,
    dump_translations,
    load_segments,
    load_translations,
)
from mcp_tools.translation.source import Kind, kind_of, program

__all__ = [
    "Kind",
    "Segment",
    "TranslationError",
    "batch",
    "check_translations",
    "dump_translations",
    "kind_of",
    "load_segments",
    "load_translations",
    "program",
]
