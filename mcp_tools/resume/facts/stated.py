"""Titles, awards, skills, employers and degrees that a text states, compared with what is known.

In fields that hold such a thing every word must have been said. In prose wording is free, but what
is written like a name, or is listed as a rank, an award, a degree, a language or a skill, must have
been said. Where a text is the translation of another one, words that are not listed are believed.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from .mentions import latin_names, organizations
from .names import is_named, listed_names, plain, readable
from .terms import CRITICAL, HAN, Evidence, Kind, evidence_in, terms_listed, usual_words, words_of

FACTS = frozenset(
    {
        "work.position",
        "volunteer.position",
        "basics.label",
        "education.studyType",
        "education.area",
        "education.courses",
        "awards.title",
        "certificates.name",
        "publications.name",
        "skills.name",
        "skills.keywords",
        "skills.level",
        "languages.language",
        "languages.fluency",
        "projects.name",
        "projects.keywords",
        "projects.roles",
        "interests.name",
        "interests.keywords",
        "location.city",
        "location.region",
        "location.address",
    }
)
PROSE = frozenset({"summary", "highlights", "description", "reference"})

_OF_THE_ENTRY: Mapping[str, Kind] = {
    "position": "ranks",
    "studyType": "degrees",
    "level": "levels",
    "fluency": "levels",
}
"""What an entry does not have because another one has it."""
_IN_PROSE: tuple[Kind, ...] = ("ranks", "awards", "degrees", "tongues", "skills")
_SPECIAL = {
    "awards": re.compile(
        r"荣?获奖|得奖|奖(?![励惩罚品金])|奖金?牌|\bpromoted (?:to|from|twice|into)\b"
        r"|\b(?:was|got|been|were|is|be) promoted\b|\b(?:the|a) best \w+ (?:award|prize)\b"
        r"|(?:被评为|评为|评选为|入选|获评|荣膺|当选)",
        re.IGNORECASE,
    ),
    "skills": re.compile(r"(?:通过|获得|取得|持有|考取)[^，。；,.;]{0,14}(?:认证|证书|资格)"),
    "ranks": re.compile(
        r"(?:高级|资深|首席)(?=[\u4e00-\u9fff]{0,4}(?:工程师|开发|经理|顾问|专员|设计师|分析师|研究员))"
        r"|\b(?:senior|principal|staff|lead|head|chief)\s+(?:\w+\s+){0,2}(?:engineer|developer"
        r"|designer|analyst|scientist|consultant|manager|architect|programmer)\b"
        r"|\bas (?:an? |the )?(?:\w+ ){0,2}"
        r"(?:lead|leader|head|principal|partner|president|captain)\b"
        r"|\bhead of \w+",
        re.IGNORECASE,
    ),
}
_CERTIFICATE = re.compile(
    r"(?i)\s*(?:\b(?:certificate|certification|exam|license|licence)|证书|认证|资格证?|执照)\s*$"
)
"""What may stand behind the name of any certificate."""
_GIVEN = ("评为", "评选为", "入选", "获评", "荣膺", "当选")
_TITLE = re.compile(rf"[“\"「]?(?P<title>[{HAN}A-Za-z\d ]{{2,16}})")
"""The title behind one of the words by which it is given."""
_BEFORE = re.compile(rf"[{HAN}]{{1,8}}$|(?:[A-Za-z][\w'’-]*\s+){{1,4}}$")
_NO_MODIFIER = re.compile(
    r"(?i)^(?:won|winning|wins?|received|receiving|earned|earning|got|awarded|given|and|then|as|the"
    r"|was|were|been|became|becoming|promoted|to|a|an|of|in|for|with|by|from|our|my|their|his|her"
    r"|several|many|various|multiple|both|company|company's|company’s|team|who|worked|reporting|with"
    r"|also|including|work|led|supporting)$"
)
_NO_HAN_MODIFIER = re.compile(
    r"^(?:.*(?:荣获|获得|获评|获|得|担任|任|成为|晋升为|作为|由|和|与|及|并|的|了|向|为|是|在|被评为|公司|等))"
)
_AT = re.compile(
    r"\b(?:at|joined|joining|for|with)\s+(?P<name>[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*){0,3})"
)


def unsaid_terms(
    place: str, text: str, known_text: str, *, near: str, old: str | None = None
) -> list[str]:
    """Return the terms in a text that are not known, as they stand there, each once.

    Args:
        place: Section and field, as in `work.position`.
        known_text: What is known, in plain letters.
        near: The part of it that can be about this entry.
        old: The text that this one replaces.
    """
    evidence = evidence_in(known_text)
    text = readable(text).strip()
    if place == "certificates.name":
        text = _CERTIFICATE.sub("", text) or text
    translated = old is not None and is_translation(old, text)
    if place in FACTS and not _is_of_entry(place, text, evidence_in(near)):
        return [text]
    if not text or evidence.quotes(text):
        return []
    if place in FACTS:
        return [] if _is_said(text, evidence, translated=translated) else [text]
    if place.rpartition(".")[2] in PROSE:
        found = (
            *_unsaid_in_prose(text, evidence, translated=translated),
            *_ranks_of_others(text, evidence_in(near)),
        )
        return list(dict.fromkeys(found))
    return []


def is_translation(old: str, new: str) -> bool:
    """Return whether a text is in another script than the one that it replaces."""
    return bool(old.strip()) and _is_han(old) != _is_han(new)


def _is_han(text: str) -> bool:
    han = len(re.findall(rf"[{HAN}]", text))
    return han * 2 > len(re.findall(r"[A-Za-z]+", text))


def _is_of_entry(place: str, text: str, near: Evidence) -> bool:
    """Return whether the rank, level or degree in a field is its own entry's, not another's."""
    kind = _OF_THE_ENTRY.get(place.rpartition(".")[2])
    return kind is None or all(near.says(word) for word in words_of(text) if word.is_of(kind))


def _is_said(text: str, evidence: Evidence, *, translated: bool) -> bool:
    """Return whether all words of a field were said, or can be a translation of what was."""
    words = list(words_of(text))
    missing = [word for word in words if not evidence.says(word)]
    if not missing:
        return True
    if not translated or any(word.is_of(*CRITICAL) for word in missing):
        return False
    if evidence.names_another(text):
        return False
    return 2 * sum(bool(word.meanings) for word in missing) <= len(words)


def _unsaid_in_prose(text: str, evidence: Evidence, *, translated: bool) -> Iterator[str]:
    for match in _listed_in_prose().finditer(text.casefold()):
        yield from _unsaid_phrase(text, match.start(), match.end(), evidence, translated=translated)
    for kind, pattern in _SPECIAL.items():
        for match in pattern.finditer(text):
            if kind == "awards" and match[0].endswith(_GIVEN):
                yield from _unsaid_title(text, match.start(), match.end(), evidence)
                continue
            if kind == "awards" and not _says_kind(evidence, "awards", match[0]):
                yield match[0]
            elif kind == "awards" and "奖" in match[0]:
                yield from _unsaid_phrase(
                    text, match.start(), match.end(), evidence, translated=translated
                )
            elif kind != "awards":
                yield from (
                    match[0]
                    for word in words_of(match[0])
                    if word.is_of(*CRITICAL) and not evidence.says(word)
                )
    employers = {word for match in _AT.finditer(text) for word in match["name"].split()}
    for name in latin_names(text):
        believed = translated and name not in employers
        if not _is_said_name(name, evidence, translated=believed):
            yield name
    for name in organizations(text):
        if (
            not evidence.quotes(name)
            and not evidence.renders(name)
            and not is_named(name, evidence.text)
        ):
            yield name
    for name in listed_names(plain(text)):
        if name not in usual_words() and not is_named(name, evidence.text):
            yield name


def _ranks_of_others(text: str, near: Evidence) -> Iterator[str]:
    """Yield the ranks in prose that only other entries have."""
    for match in _listed_in_prose().finditer(text.casefold()):
        term = next(iter(words_of(match[0])))
        if term.is_of("ranks") and not near.says(term):
            yield text[match.start() : match.end()]


def _unsaid_title(text: str, begin: int, stop: int, evidence: Evidence) -> Iterator[str]:
    """Yield the title that somebody is said to have been given: "获评部门最佳新人"."""
    title = _TITLE.match(text, stop)
    named = title["title"] if title else ""
    listed = [word for word in words_of(named) if word.meanings]
    is_said = evidence.quotes(named) or (bool(listed) and all(map(evidence.says, words_of(named))))
    if not is_said and not _says_kind(evidence, "awards", text[begin:stop]):
        yield text[begin:stop] + named
    elif not is_said and named:
        yield named


def _is_said_name(name: str, evidence: Evidence, *, translated: bool) -> bool:
    words = list(words_of(name))
    if all(evidence.says(word) for word in words):
        return True
    is_acronym = name.isupper() or any(sign.isdigit() for sign in name)
    return translated and not is_acronym and not any(word.is_of(*CRITICAL) for word in words)


def _says_kind(evidence: Evidence, kind: Kind, text: str) -> bool:
    """Return whether a term of a kind that is like the text is known."""
    words = [word for word in words_of(text) if word.is_of(kind)]
    return bool(words) and all(evidence.says(word) for word in words)


def _unsaid_phrase(
    text: str, start: int, end: int, evidence: Evidence, *, translated: bool
) -> Iterator[str]:
    """Yield a listed term and what belongs to it before it, if a word of that is not known."""
    term = next(iter(words_of(text[start:end])))
    if not all(evidence.says(word) for word in words_of(text[start:end])):
        yield text[start:end]
        return
    if not term.is_of("ranks", "awards"):
        return
    before = _BEFORE.search(text, 0, start)
    if before is None:
        return
    if re.match(rf"[{HAN}]", before[0]):
        own = _NO_HAN_MODIFIER.sub("", before[0])
        modifiers = list(words_of(own))
        begin = start - len(own)
    else:
        spoken = before[0].split()
        own_words: list[str] = []
        for word in reversed(spoken):
            if _NO_MODIFIER.match(word):
                break
            own_words.insert(0, word)
        modifiers = list(words_of(" ".join(own_words)))
        begin = start - sum(len(word) + 1 for word in own_words)
    strict = term.is_of("awards") and not translated
    if any(not evidence.says(word) for word in modifiers if word.meanings or strict):
        yield text[max(0, begin) : end]


@cache
def _listed_in_prose() -> re.Pattern[str]:
    forms = {
        form
        for kind in _IN_PROSE
        for form in terms_listed(kind)
        if form not in usual_words() and (len(form) > 2 or not form.isascii())
    }
    ordered = sorted(forms, key=len, reverse=True)
    latin = "|".join(re.escape(form) for form in ordered if form[0].isascii())
    han = "|".join(re.escape(form) for form in ordered if not form[0].isascii())
    return re.compile(rf"(?<![a-z\d])(?:{latin})s?(?![a-z\d])|{han}")
