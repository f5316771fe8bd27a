"""The looks of a resume: style sheets for HTML, Typst templates for PDF."""

from pathlib import Path

THEMES = Path(__file__).parent
