"""Entries that last: jobs, studies, projects and voluntary work, from their groups of lines."""

import re
from collections.abc import Sequence
from functools import cache

from pydantic import JsonValue

from mcp_tools.resume.document import JsonObject

from .entries import Group, groups, label_of
from .heads import is_firm, is_place, is_role, pieces, role_and_firm, take_url
from .lines import Line, is_cjk
from .vocabulary import looks_like, vocabulary, whole_words

_WORD = re.compile(r"(?:[^,，、;；|｜\t()（）]|[(（][^()（）]*[)）]|[()（）])+")
_BESIDE = re.compile(r"\s+[/·•]\s+(?![^()（）]*[)）])")
_SCORE = re.compile(
    r"(?:c?gpa|绩点|排名|rank(?:ed|ing)?|grade|score|distinction|first class|honours|honors"
    r"|cum laude|均分)",
    re.IGNORECASE,
)
_SCORE_LABEL = re.compile(
    r"^(?:(?:overall|cumulative|final)\s+)?(?:c?gpa|平均绩点|绩点|score|grade)"
    r"\s*(?:of|is)?\s*[:：]?\s*",
    re.IGNORECASE,
)
_GENERIC = (
    r"(?:\s+of\s+(?:science|arts|engineering|business administration|philosophy|laws?|fine arts"
    r"|education|technology|commerce|applied science|medicine|public health|music|architecture"
    r"|research|design)\b(?:\s+and\s+(?:science|engineering|arts)\b)?)?"
)
_IN = re.compile(r"^(?:\s+in\s+|\s+of\s+|\s*[,，:：·/-]\s*|\s+)(.+)$", re.IGNORECASE)
_ASIDE = re.compile(r"(.+?)\s*[(（]([^()（）]{1,40})[)）]$")
_CHINESE_DEGREE = re.compile(
    r"(.*?)((?:统招|全日制|在职|自考|成人|理学|工学|工程|文学|管理学|经济学|法学|医学|教育学|专业)*(?:工商管理硕士|硕士研究生|博士研究生|本科|学士|硕士|博士后|博士|大专|专科|研究生|高中|中专|双学位)(?:学位|学历|在读|毕业|生)?)"
)
_STUDY = re.compile(r"^(?:major(?:ing|ed)? (?:in|:)\s*|主修\s*|专业[:：]\s*)", re.IGNORECASE)


def work(lines: Sequence[Line]) -> list[JsonObject]:
    """Return the jobs that a section tells of."""
    return [_job(group, "work", "name") for group in groups(lines, "work", title="name", wanted=2)]


def volunteer(lines: Sequence[Line]) -> list[JsonObject]:
    """Return the voluntary work that a section tells of."""
    found = groups(lines, "volunteer", title="organization", wanted=2)
    return [_job(group, "volunteer", "organization") for group in found]


def education(lines: Sequence[Line]) -> list[JsonObject]:
    """Return the studies that a section tells of."""
    found = groups(lines, "education", title="institution", wanted=3)
    return [_study(group) for group in found]


def projects(lines: Sequence[Line]) -> list[JsonObject]:
    """Return the projects that a section tells of."""
    return [_project(group) for group in groups(lines, "projects", title="name", wanted=1)]


def split_words(text: str) -> list[str]:
    """Split a list of words at its commas and the like, but not within brackets."""
    words = (word.strip(" .。·") for part in _BESIDE.split(text) for word in _WORD.findall(part))
    return [word for word in words if word]


def _job(group: Group, section: str, firm_field: str) -> JsonObject:
    entry: JsonObject = dict(group.labels)
    department = entry.pop("department", None)
    text, url = take_url("\t".join(group.head))
    left = pieces(text, 2 - len({"position", firm_field} & entry.keys()))
    places = [piece for piece in left if is_place(piece)]
    left = [piece for piece in left if not is_place(piece)]
    if section == "work" and places:
        entry.setdefault("location", places.pop(0))
    if "position" not in entry and firm_field not in entry:
        role, firm, left = role_and_firm(left)
        entry |= {key: value for key, value in (("position", role), (firm_field, firm)) if value}
    for missing in (firm_field, "position"):
        if missing not in entry and left:
            entry[missing] = left.pop(0)
    notes = [str(department)] if department else []
    return _complete(entry, group, section, url, [*notes, *left, *places])


def _project(group: Group) -> JsonObject:
    entry: JsonObject = dict(group.labels)
    if "roles" in entry:
        entry["roles"] = [*split_words(str(entry["roles"]))]
    if "keywords" in entry:
        entry["keywords"] = [*split_words(str(entry["keywords"]))]
    text, url = take_url("\t".join(group.head))
    left = [piece for line in text.split("\t") for piece in pieces(line, 1)]
    if "name" not in entry and left:
        entry["name"] = left.pop(0)
    role = next((piece for piece in left if is_role(piece) and not is_firm(piece)), None)
    if role and "roles" not in entry:
        left.remove(role)
        entry["roles"] = [role]
    firm = next((piece for piece in left if is_firm(piece)), None)
    if firm and "entity" not in entry:
        left.remove(firm)
        entry["entity"] = firm
    kind = next((piece for piece in left if piece.lower() in vocabulary().project_types), None)
    if kind and "type" not in entry:
        left.remove(kind)
        entry["type"] = kind
    return _complete(entry, group, "projects", url, left)


def _study(group: Group) -> JsonObject:
    entry: JsonObject = dict(group.labels)
    text, url = take_url("\t".join(group.head))
    left = pieces(text, 3 - len(entry))
    notes: list[str] = []
    parts = [piece if _is_school(piece) else split_degree(piece) for piece in left]
    for degree, area in (part for part in parts if isinstance(part, tuple)):
        notes += _put_degree(entry, degree)
        if entry.setdefault("area", area) != area:
            notes.append(area)
    bare = [part for part in parts if isinstance(part, str)]
    for piece in sorted(bare, key=lambda part: (not _is_school(part), not is_degree(part))):
        if is_degree(piece) and not _is_school(piece):
            notes += _put_degree(entry, piece)
        elif field := _study_field(piece, entry):
            bare_value = _SCORE_LABEL if field == "score" else _STUDY
            entry[field] = bare_value.sub("", piece)
        else:
            notes.append(piece)
    span = group.span
    if span and span.alone:
        entry["endDate"] = span.end or span.start
        group.span = None
    return _complete(entry, group, "education", url, notes)


def _put_degree(entry: JsonObject, degree: str) -> list[str]:
    """Set the degree, or add its abbreviation to it; return it when there is another one."""
    before = entry.get("studyType")
    if before and not (degree.isupper() or degree == before):
        return [degree]
    entry["studyType"] = degree if not before or degree == before else f"{before} - {degree}"
    return []


def _study_field(piece: str, entry: JsonObject) -> str | None:
    if "score" not in entry and _SCORE.search(piece):
        return "score"
    if "institution" not in entry and _is_school(piece):
        return "institution"
    if is_place(piece):
        return "location" if "location" not in entry else None
    part_of_school = _is_school(piece) or looks_like("departments", piece)
    if ("area" not in entry and not part_of_school) or _STUDY.match(piece):
        return "area" if "institution" in entry or "studyType" in entry else "institution"
    return "institution" if "institution" not in entry else None


def _is_school(text: str) -> bool:
    return looks_like("schools", text) and not _starts_with_degree(text)


def is_degree(text: str) -> bool:
    """Tell whether a text names a degree."""
    if any(is_cjk(sign) for sign in text):
        return _CHINESE_DEGREE.fullmatch(text) is not None
    return _degree().match(text) is not None


def _starts_with_degree(text: str) -> bool:
    return _degree().match(text) is not None


@cache
def _degree() -> re.Pattern[str]:
    words = whole_words(vocabulary().degrees.en)
    return re.compile(
        rf"{words}(?:\s+degree)?{_GENERIC}(?:\s*\((?:hons|honours|honors)\.?\))?(?:\s+hons\b)?",
        re.IGNORECASE,
    )


def split_degree(piece: str) -> str | tuple[str, str]:
    """Split "B.Sc. in Physics" or "计算机硕士" into the degree and the subject, if it is both."""
    aside = _ASIDE.fullmatch(piece)
    if aside and is_degree(aside[2]) and not is_degree(aside[1]):
        return aside[2], aside[1]
    if any(is_cjk(sign) for sign in piece):
        chinese = _CHINESE_DEGREE.fullmatch(piece)
        subject = chinese[1].strip(" ·-/（(") if chinese else ""
        return (chinese[2], subject) if chinese and subject else piece
    match = _degree().match(piece)
    after = _IN.match(piece[match.end() :]) if match else None
    return (match[0].strip(), after[1]) if match and after else piece


def _complete(
    entry: JsonObject, group: Group, section: str, url: str | None, notes: Sequence[str]
) -> JsonObject:
    if url:
        entry.setdefault("url", url)
    if group.span:
        entry |= group.span.of_time()
    _Body(entry, section).read([Line(note) for note in notes if note], group.body)
    return entry


def _is_url(text: str) -> bool:
    rest, url = take_url(text)
    return url is not None and not rest


class _Body:
    """Puts the lines below a head into an entry: bullets are highlights, prose is a summary."""

    def __init__(self, entry: JsonObject, section: str) -> None:
        self._entry = entry
        self._section = section
        self._prose = "description" if section == "projects" else "summary"
        self._into = ""

    def read(self, notes: Sequence[Line], body: Sequence[Line]) -> None:
        for line in (each._replace(text=each.text.replace("\t", " ")) for each in (*notes, *body)):
            label = label_of(line.text, self._section)
            if label and (not line.bullet or self._is_fact(label[0])):
                self._labelled(*label)
            elif "url" not in self._entry and _is_url(line.text):
                self._entry["url"] = line.text
            elif self._section == "education":
                self._of_study(line)
            else:
                self._add(self._into or ("highlights" if line.bullet else self._prose), line)
            if line.gap and not label:
                self._into = self._into if line.bullet else ""

    def _is_fact(self, field: str) -> bool:
        return field in ("keywords", "roles", "score", "courses", "url", "entity", "type")

    def _labelled(self, field: str, value: str) -> None:
        if field in ("dates", "department"):
            self._add_text(self._prose, value)
            return
        if field in ("keywords", "courses", "roles"):
            self._extend(field, split_words(value))
            self._into = field if not value else ""
            return
        self._into = field if field in ("highlights", self._prose, "description") else ""
        if value and field == "highlights":
            self._extend(field, [value])
        elif value:
            self._add_text(field, value)

    def _of_study(self, line: Line) -> None:
        if self._into == "courses":
            self._extend("courses", split_words(line.text))
        elif "score" not in self._entry and _SCORE_LABEL.match(line.text) and len(line.text) < 60:
            self._entry["score"] = _SCORE_LABEL.sub("", line.text)
        else:
            self._add_text("summary", line.text)

    def _add(self, field: str, line: Line) -> None:
        if field in ("highlights", "keywords", "roles") or line.bullet:
            target = field if field in ("keywords", "roles") else "highlights"
            words = [line.text] if target == "highlights" else split_words(line.text)
            self._extend(target, words)
        else:
            self._add_text(field, line.text)

    def _add_text(self, field: str, text: str) -> None:
        if not text:
            return
        before = self._entry.get(field)
        self._entry[field] = f"{before}\n{text}" if before else text

    def _extend(self, field: str, words: Sequence[str]) -> None:
        before = self._entry.get(field)
        known: list[JsonValue] = before if isinstance(before, list) else []
        if words:
            self._entry[field] = [*known, *words]
