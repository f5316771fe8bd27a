"""The names of sections and fields, per language."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel

Language = Literal["zh", "en"]


class _Labels(BaseModel):
    sections: Mapping[str, Mapping[Language, str]]
    fields: Mapping[str, Mapping[str, Mapping[Language, str]]]


@cache
def _labels() -> _Labels:
    file = Path(__file__).with_name("labels.yaml")
    return _Labels.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def section_label(section: str, language: Language) -> str:
    """Return what a section is called, or its own name when it has no label."""
    words = _labels().sections.get(section)
    return words[language] if words else section


def field_label(section: str, field: str, language: Language) -> str:
    """Return what a field is called in a section, or its own name when it has no label."""
    fields = _labels().fields
    words = fields.get(section, {}).get(field) or fields["common"].get(field)
    return words[language] if words else field
