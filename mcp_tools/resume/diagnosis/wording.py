"""Descriptions of defects in Chinese and English: the sentences of `wording.yaml`, filled in."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, JsonValue

from mcp_tools.resume.document import JsonObject, Resume, title_field
from mcp_tools.resume.labels import Language, field_label, section_label

from .defects import Defect, Kind

Sentence = Mapping[Language, str]
_MOST_NAMED = 5
"""Maximum number of items listed."""


class _Wording(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    diagnosis: Mapping[Kind, Mapping[str, Sentence]]
    mended: Sentence
    goal: Mapping[Kind, Sentence]
    questions: Mapping[str, Sequence[Sentence]]
    now: Sentence
    whole: Sentence
    entry: Sentence
    titled: Sentence
    comma: Sentence
    quote: Sentence


@cache
def _wording() -> _Wording:
    file = Path(__file__).with_name("wording.yaml")
    return _Wording.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def diagnosis_text(
    defects: Sequence[Defect], section: str, entry: int | None, resume: Resume, language: Language
) -> str:
    """Say what is wrong; the defects are of one kind."""
    variants = _wording().diagnosis[defects[0].kind]
    sentence = variants.get(_variant(defects[0]), variants.get("other"))
    assert sentence is not None
    place = place_text(section, entry, resume, language)
    text = sentence[language].format(place=place, **_pieces(defects, language))
    return text[:1].upper() + text[1:]


def mended_text(section: str, entry: int | None, resume: Resume, language: Language) -> str:
    """Say that nothing is wrong any more."""
    text = _wording().mended[language].format(place=place_text(section, entry, resume, language))
    return text[:1].upper() + text[1:]


def goal_text(kind: Kind, language: Language) -> str:
    """Say what is to be reached."""
    return _wording().goal[kind][language]


def question_texts(key: str, place: str, defect: Defect, language: Language) -> list[str]:
    """Ask for one thing; the first is the question, others help to answer it."""
    pieces = {"place": place, **_pieces([defect], language)}
    return [sentence[language].format(**pieces) for sentence in _wording().questions[key]]


def place_text(section: str, entry: int | None, resume: Resume, language: Language) -> str:
    """Name a place: the resume, a section, or an entry by its title."""
    if not section:
        return _wording().whole[language]
    label = section_label(section, language)
    if entry is None:
        return label
    found = read_entry(resume, section, entry)
    title = found.get(title_field(section) or "")
    if isinstance(title, str) and title:
        return _wording().titled[language].format(section=label, title=title)
    return _wording().entry[language].format(section=label, number=entry + 1)


def read_entry(resume: Resume, section: str, index: int) -> JsonObject:
    """Return an entry as plain JSON; an empty one if it is not there."""
    found = resume.to_json().get(section)
    entry = found[index] if isinstance(found, list) and index < len(found) else {}
    return entry if isinstance(entry, dict) else {}


def _variant(defect: Defect) -> str:
    detail = defect.detail
    if defect.kind == "impossible_dates":
        return str(detail.get("reason"))
    if defect.kind == "gap" and detail.get("end") is None:
        return "open"
    if defect.kind == "relevance":
        return str(detail.get("source"))
    if defect.kind == "unsupported_skill" and "skills" in detail:
        return "listed"
    return str(detail.get("what"))


def _pieces(defects: Sequence[Defect], language: Language) -> dict[str, object]:
    """Return what the sentences may hold, from the details of all defects."""
    first = defects[0].detail
    section = defects[0].section
    fields = [str(name) for name in _items(first.get("fields"))]
    lines = [part for defect in defects for part in _items(defect.detail.get("lines"))]
    skills = [str(item) for item in _items(first.get("skills"))] or [
        str(defect.detail["skill"]) for defect in defects if "skill" in defect.detail
    ]
    listed = {
        "fields": [
            field_label(section, name, language).split("（")[0].split(" (")[0] for name in fields
        ],
        "dates": [str(first.get(name)) for name in fields],
        "openings": _quoted([defect.detail.get("opening") for defect in defects], language),
        "texts": _quoted(
            [
                text
                for defect in defects
                for text in (_items(defect.detail.get("texts")) or [defect.detail.get("text")])
            ],
            language,
        ),
        "words": [f"{d.detail.get('wrong')} → {d.detail.get('right')}" for d in defects],
        "skills": skills,
    }
    joined = {name: _listed(items, language) for name, items in listed.items()}
    count = len(lines) or len(_items(first.get("skills"))) or len(defects)
    plain = {key: value for key, value in first.items() if key not in joined}
    end = first.get("end") or _wording().now[language]
    return {"start": "", "line": "", **plain, **joined, "end": end, "count": count}


def _quoted(items: Sequence[JsonValue], language: Language) -> list[str]:
    quote = _wording().quote[language]
    return [quote.format(text=item) for item in dict.fromkeys(items) if item]


def _listed(items: Sequence[str], language: Language) -> str:
    several = list(dict.fromkeys(items))
    shown = _wording().comma[language].join(several[:_MOST_NAMED])
    return f"{shown}…" if len(several) > _MOST_NAMED else shown


def _items(value: JsonValue | None) -> list[JsonValue]:
    return value if isinstance(value, list) else []
