"""Formal adaptation of people's answers for a resume: no word is added."""

import re

from mcp_tools.resume.diagnosis.reading import length
from mcp_tools.resume.diagnosis.rules.statements import weak_opening
from mcp_tools.resume.diagnosis.verbs import Tense, deed_of_gerund
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.export.text import language_of, one_line
from mcp_tools.resume.labels import Language

_ENDS = " \t.。;；,，"
_SENTENCES = re.compile(r"(?<=[。！？!?；;])\s*|(?<=\.)\s+(?=[A-Z])|\n+")
_DUTY = re.compile(
    r"(?:i was |was )?(?:mainly |also )?(?:responsible for|in charge of|tasked with|charged with)"
    r"\s+(?P<gerund>[a-z]+ing)\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)


def as_lines(answer: str) -> list[str]:
    """Return what was said as lines of a resume, one for each sentence."""
    return [line for part in _SENTENCES.split(answer) if (line := as_line(part))]


def as_line(sentence: str) -> str:
    """Return a sentence without "I" and its full stop, with a capital where it begins."""
    bare = words().first_person.sub("", one_line(sentence).strip(_ENDS)).strip(_ENDS)
    return bare[:1].upper() + bare[1:]


def as_deed(line: str, tense: Tense) -> str | None:
    """Turn a duty into a deed: "Responsible for managing …" → "Managed …".

    Only where nothing else is claimed by it; `None` for "helped", "参与", or a duty without a verb.
    """
    deed = _chinese_deed(line) if language_of([line]) == "zh" else _english_deed(line, tense)
    return deed if deed and not weak_opening(deed) else None


def _english_deed(line: str, tense: Tense) -> str | None:
    duty = _DUTY.fullmatch(line)
    verb = deed_of_gerund(duty["gerund"], tense) if duty else None
    return f"{verb.capitalize()} {duty['rest']}" if duty and verb else None


def _chinese_deed(line: str) -> str | None:
    verb = words().deeds_zh
    several = rf"(?:{verb})(?:[与和及、](?:{verb}|实现|落地|交付))*"
    head = r"(?:主要|全面|具体)?负责"
    if turned := re.fullmatch(
        rf"{head}(?P<what>[^，,；;。]{{2,30}}?)的(?P<how>日常|整体|全部)?(?P<verb>{several})(?:工作)?[；;。]?",
        line,
    ):
        return f"{turned['how'] or ''}{turned['verb']}{turned['what']}"
    plain = re.fullmatch(rf"{head}(?P<deed>(?:{verb}).{{2,}})", line, re.DOTALL)
    return plain["deed"] if plain else None


def shortened(text: str, limit: int) -> str | None:
    """Return as many of the first sentences as fit; `None` if not even the first one does."""
    kept = ""
    for sentence in _parts(text):
        if length(kept + sentence) > limit:
            break
        kept += sentence
    return kept.strip() or None


def parted(text: str, limit: int) -> list[str] | None:
    """Split a text into its sentences; `None` if it is one only, or one is still too long."""
    lines = as_lines(text)
    fits = len(lines) > 1 and all(length(line) <= limit for line in lines)
    return lines if fits else None


def joined(first: str, second: str, language: Language) -> str:
    """Join two texts, with an end between them."""
    if not first:
        return second
    end = "" if first[-1] in "。！？.!?；;" else {"zh": "。", "en": "."}[language]
    return f"{first}{end}{'' if language == 'zh' else ' '}{second}"


def _parts(text: str) -> list[str]:
    return re.findall(r"[^。！？!?；;\n]+?(?:[。！？!?；;\n]+|\.(?:\s+|$)|$)", text)
