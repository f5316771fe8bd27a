"""Descriptions of the changes between two versions of a resume. Pure.

They are added at the end of a model's reply. They are derived from the documents, so they are
correct whatever the model says.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from pydantic import JsonValue

from mcp_tools.resume import SECTIONS, JsonObject, Language, Resume, field_label, section_label

from .dialogue.phrases import entry_line, phrase, value_words

_MOST_LINES = 20
_LONG_TEXT = 40
_CONTEXT = 8
"""Characters that are shown before and behind what has changed in a long text."""
_ALIKE = 0.5
"""Entries whose texts agree at least so much are the same entry, changed."""


def changes(before: Resume, after: Resume, language: Language) -> str:
    """Say what has changed, a line for each field, entry or section; "" when nothing has."""
    lines = list(_changes(before.to_json(), after.to_json(), language))
    if not lines:
        return ""
    if len(lines) > _MOST_LINES:
        more = phrase("changes_more", language, count=len(lines) - _MOST_LINES)
        lines = [*lines[:_MOST_LINES], more]
    return "\n".join([phrase("changes", language), *(f"- {line}" for line in lines)])


def without_changes(text: str) -> str:
    """Return a reply without the list of changes at its end, which the model may have imitated."""
    headers = "|".join(re.escape(phrase("changes", language)) for language in ("zh", "en"))
    return re.sub(rf"(?ms)^\s*(?:{headers})\s*$.*\Z", "", text).rstrip()


def _changes(before: JsonObject, after: JsonObject, language: Language) -> Iterator[str]:
    others = sorted((before.keys() | after.keys()) - {*SECTIONS, "meta"})
    for section in (*SECTIONS, *others):
        old, new = before.get(section), after.get(section)
        if old == new:
            continue
        if isinstance(old or new, list) and section != "basics":
            yield from _changed_entries(section, _entries(old), _entries(new), language)
        elif isinstance(old or new, dict):
            name = section_label(section, language)
            yield from _changed_fields(section, name, _fields(old), _fields(new), language)
        else:
            yield _changed_field(section, section_label(section, language), "", old, new, language)


def _changed_entries(
    section: str, old: Sequence[JsonObject], new: Sequence[JsonObject], language: Language
) -> Iterator[str]:
    label = section_label(section, language)
    pairs = _paired(old, new)
    partners = dict(pairs)
    if not [entry for entry in new if entry not in old] and len(old) == len(new):
        yield phrase("changes_order", language, section=label)
        return
    for index, entry in enumerate(old):
        if index not in partners:
            line = entry_line(section, entry, language)
            yield phrase("deleted", language, section=label, entry=line)
        elif entry != (changed := new[partners[index]]):
            title = entry_line(section, changed, language).split(" · ")[0]
            name = phrase("entry_name", language, section=label, title=title)
            yield from _changed_fields(section, name, entry, changed, language)
    for index, entry in enumerate(new):
        if index not in partners.values():
            line = entry_line(section, entry, language)
            yield phrase("added", language, section=label, entry=line)


def _paired(old: Sequence[JsonObject], new: Sequence[JsonObject]) -> list[tuple[int, int]]:
    """Pair the entries that are the same: first the equal ones, then those that are most alike."""
    pairs: list[tuple[int, int]] = []
    left, right = list(range(len(old))), list(range(len(new)))
    for index in list(left):
        equal = next((other for other in right if new[other] == old[index]), None)
        if equal is not None:
            pairs.append((index, equal))
            left.remove(index)
            right.remove(equal)
    ranked = sorted(
        ((_likeness(old[one], new[other]), one, other) for one in left for other in right),
        key=lambda item: (-item[0], abs(item[1] - item[2])),
    )
    for likeness, one, other in ranked:
        if likeness >= _ALIKE and one in left and other in right:
            pairs.append((one, other))
            left.remove(one)
            right.remove(other)
    return pairs


def _likeness(one: JsonObject, other: JsonObject) -> float:
    """The share of equal fields, where fields that only one of them has count little."""
    shared = one.keys() & other.keys()
    equal = sum(one[name] == other[name] for name in shared)
    if equal == 0 or not shared:
        first, second = (" ".join(map(str, entry.values())) for entry in (one, other))
        return SequenceMatcher(None, first, second, autojunk=False).ratio()
    return max(_ALIKE, equal / len(shared))


def _changed_fields(
    section: str, name: str, old: JsonObject, new: JsonObject, language: Language
) -> Iterator[str]:
    for field in {**old, **new}:
        before, after = old.get(field), new.get(field)
        if before != after:
            yield _changed_field(section, name, field, before, after, language)


def _changed_field(
    section: str, name: str, field: str, old: JsonValue, new: JsonValue, language: Language
) -> str:
    label = field_label(section, field, language)
    if _is_list_of_texts(old) and _is_list_of_texts(new) and (old or new):
        what = _changed_texts(old or [], new or [], language)
    else:
        what = _from_to(
            _words(section, field, old, language), _words(section, field, new, language)
        )
    return phrase("changes_field", language, entry=name, field=label, what=what)


def _words(section: str, field: str, value: JsonValue, language: Language) -> str:
    if field == "endDate" and value is None:
        return phrase("until_now", language)
    return " ".join(value_words(section, value, language).split())


def _changed_texts(old: JsonValue, new: JsonValue, language: Language) -> str:
    before, after = (value if isinstance(value, list) else [] for value in (old, new))
    gone = [str(text) for text in before if text not in after]
    come = [str(text) for text in after if text not in before]
    if len(gone) == len(come) == 1:
        return _from_to(gone[0], come[0])
    signs = [f"−{_short(text)}" for text in gone] + [f"+{_short(text)}" for text in come]
    return phrase("list_separator", language).join(signs) or phrase(
        "changes_order", language, section=""
    )


def _from_to(old: str, new: str) -> str:
    """Show both texts; of long ones that agree in part, only where they differ."""
    if max(len(old), len(new)) > _LONG_TEXT:
        ahead = max(0, _agreeing(old, new) - _CONTEXT)
        behind = max(0, _agreeing(old[ahead:][::-1], new[ahead:][::-1]) - _CONTEXT)
        old, new = (_cut(text, ahead, behind) for text in (old, new))
    return f"{_short(old)} → {_short(new)}"


def _agreeing(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cut(text: str, ahead: int, behind: int) -> str:
    end = len(text) - behind
    return ("…" if ahead else "") + text[ahead:end] + ("…" if behind else "")


def _short(text: str) -> str:
    return text if len(text) <= 2 * _LONG_TEXT else f"{text[: 2 * _LONG_TEXT - 1]}…"


def _is_list_of_texts(value: JsonValue) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _entries(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _fields(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
