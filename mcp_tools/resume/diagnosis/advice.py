"""Why a defect matters and what helps: what a recruiter would answer when asked."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from mcp_tools.resume.labels import Language

from .defects import Kind

Topic = Literal["why", "how", "example", "meaning", "needed"]


class _Advice(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: Mapping[Kind, Mapping[Literal["why", "how", "example"], Mapping[Language, str]]]
    needed: Mapping[Language, str]


def advice(kind: Kind, topic: Topic, language: Language) -> str:
    """Answer a question about a kind of defect."""
    known = _advice().kinds[kind]
    match topic:
        case "needed":
            return f"{_advice().needed[language]}{known['why'][language]}"
        case "meaning":
            return f"{known['why'][language]}{_GAP[language]}{known['how'][language]}"
        case _:
            return known[topic][language]


_GAP: Mapping[Language, str] = {"zh": "", "en": " "}


@cache
def _advice() -> _Advice:
    file = Path(__file__).with_name("advice.yaml")
    return _Advice.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
