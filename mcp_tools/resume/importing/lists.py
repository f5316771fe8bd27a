"""Sections that are lists: skills, languages, interests, prizes, certificates, articles, people."""

import re
from collections.abc import Sequence
from functools import cache

from pydantic import JsonValue

from mcp_tools.resume.document import JsonObject

from .entries import is_short, label_of
from .facts import split_words
from .heads import is_firm, pieces, take_url
from .lines import Line, display_width
from .sections import heading_section
from .spans import find_span
from .vocabulary import vocabulary

_GROUP = re.compile(r"([^:：\t]{1,60}?)\s*(?:[:：]|\t)\s*(\S.*)", re.DOTALL)
_DASHED = re.compile(r"(.{1,60}?)\s+[-–—]+\s+(.+)", re.DOTALL)
_ASIDE = re.compile(r"(.+?)\s*[(（]([^()（）]+)[)）]")
_STARS = re.compile(r"\s*((?:[★☆●○■□▮▯]{3,10})|\d{1,3}\s?%|\d{1,2}/10|[1-5]/5)\s*")
_CITED = re.compile(r"[\"“](.+?)[,.]?[\"”][,.]?\s*(.*)|(.+[^.\s]{3})[.]\s+(?:In:? )?([^.]+)[.,\s]*")
_LEVELLED = re.compile(r"([^:：\t]{1,40}?)(?:\s*[:：\t]\s*|\s+)(\S.*)", re.DOTALL)
_LISTED = ("skills", "languages", "certificates", "interests", "awards")
_LONG = 44
_AND_OTHERS = re.compile(r"\s*(?:等(?:等)?(?:工具|技术|语言|框架)?|\betc\.?)$")
_AND = re.compile(r"\s+(?:and|&)\s+|(?<=[\u4e00-\u9fffA-Za-z+#])[和与及](?=[\u4e00-\u9fffA-Za-z])")
_ON_REQUEST = re.compile(
    r".*\b(?:available|provided|furnished)\b.*\brequest\b.*|.*(?:备索|可提供).*", re.IGNORECASE
)


def skills(lines: Sequence[Line]) -> list[JsonObject]:
    """Return skills: groups with keywords, or single ones with a level."""
    found: list[JsonObject] = []
    for line in lines:
        grouped = _GROUP.fullmatch(line.text)
        if found and "level" not in found[-1] and (alone := _level(line.text)):
            found[-1]["level"] = alone
        elif grouped and (level := _level(grouped[2])):
            found.append({"name": grouped[1], "level": level})
        elif grouped:
            found.append(_skill_group(grouped[1], grouped[2]))
        elif found and line.bullet and found[-1].pop("_open", False):
            found[-1]["keywords"] = [*split_words(line.text)]
        elif _opens_group(line, lines):
            found.append({"name": line.text.rstrip(":："), "_open": True})
        elif found and "_open" in found[-1]:
            found[-1]["keywords"] = [*split_words(line.text)]
            del found[-1]["_open"]
        else:
            found += _single_skills(line.text)
    for entry in found:
        entry.pop("_open", None)
    return found


def _opens_group(line: Line, lines: Sequence[Line]) -> bool:
    if line.text.endswith((":", "：")):
        return True
    ranked = line.style and not line.bullet and any(not each.style or each.bullet for each in lines)
    return bool(ranked) and len(split_words(line.text)) == 1 and line.style == lines[0].style


def _skill_group(name: str, text: str) -> JsonObject:
    aside = _ASIDE.fullmatch(name)
    level = _level(aside[2]) if aside else None
    if aside and level:
        return {"name": aside[1], "level": level, "keywords": _keywords(text)}
    first = _LEVELLED.fullmatch(text)
    if first and (level := _level(first[1])):
        return {"name": name, "level": level, "keywords": _keywords(first[2])}
    return {"name": name, "keywords": _keywords(text)}


def _keywords(text: str) -> list[JsonValue]:
    if re.search(r"[。；]", text.rstrip("。；")) or (
        display_width(text) > 60 and len(split_words(text)) < 3
    ):
        return [text]
    words = [_AND_OTHERS.sub("", word) for word in split_words(text)]
    return [re.sub(r"^(?:and|&)\s+", "", word) for word in words if word]


def _single_skills(text: str) -> list[JsonObject]:
    dashed = _DASHED.fullmatch(text)
    if dashed and (level := _level(dashed[2])):
        return [{"name": dashed[1], "level": level}]
    if dashed and len(split_words(dashed[2])) > 1:
        return [{"name": dashed[1], "keywords": _keywords(dashed[2])}]
    words = split_words(text.strip("。"))
    if any(display_width(word) > _LONG for word in words) or _is_sentence(text):
        return [{"name": text}]
    found: list[JsonObject] = []
    level = None
    for word in words:
        level = _leading_level(word)[0] or level
        found += [_skill(part, level) for part in _AND.split(_leading_level(word)[1]) if part]
    return found


def _is_sentence(text: str) -> bool:
    """Return whether a text is more than a list of names with a level."""
    parts = re.split(r"[，,；;。]", text.strip("。；;"))
    rest = [_leading_level(part.strip())[1] for part in parts]
    return any(
        re.search(r"[\u4e00-\u9fff]{13,}|等.+|^(?:有|具有|具备|能够|能|包括|如|可以|并)", part)
        for part in rest
    )


def _skill(text: str, level: str | None) -> JsonObject:
    text = _AND_OTHERS.sub("", text)
    if aside := _ASIDE.fullmatch(text):
        own = _level(aside[2])
        if own:
            return {"name": aside[1], "level": own}
        return {"name": aside[1], "keywords": _keywords(aside[2]), **_levelled(level)}
    if stars := _STARS.search(text):
        bare = _STARS.sub("", text)
        return {"name": bare, "level": stars[1]} if bare else {"name": text}
    return {"name": text, **_levelled(level)}


def _levelled(level: str | None) -> JsonObject:
    return {"level": level} if level else {}


def _level(text: str) -> str | None:
    bare = text.strip(" .。")
    known = vocabulary().levels | vocabulary().fluency
    return bare if bare.lower() in known or _STARS.fullmatch(bare) else None


def _leading_level(text: str) -> tuple[str | None, str]:
    match = _leading_level_pattern().match(text)
    if match is None or not text[match.end() :].strip():
        return None, text
    return match[1], text[match.end() :].strip()


@cache
def _leading_level_pattern() -> re.Pattern[str]:
    words = sorted(vocabulary().levels, key=len, reverse=True)
    chinese = "|".join(word for word in words if not word.isascii())
    english = "|".join(word for word in words if word.endswith((" in", " with", " of")))
    return re.compile(rf"({chinese}|(?:{english})(?= ))[:：]?\s*", re.IGNORECASE)


def languages(lines: Sequence[Line]) -> list[JsonObject]:
    """Return languages with how well they are spoken."""
    found: list[JsonObject] = []
    for line in lines:
        parts = (
            [line.text]
            if _GROUP.fullmatch(line.text) and not _has_more(line.text)
            else split_words(line.text)
        )
        for part in parts:
            if found and "fluency" not in found[-1] and _is_fluency(part):
                found[-1]["fluency"] = part
            else:
                found.append(_language(part))
    return found


def _has_more(text: str) -> bool:
    """Return whether a line names several languages, each with its own colon."""
    return len(re.findall(r"[:：]", text)) > 1


def _language(text: str) -> JsonObject:
    for pattern in (_GROUP, _DASHED, _ASIDE):
        match = pattern.fullmatch(text)
        if match:
            return {"language": match[1].strip(), "fluency": match[2].strip()}
    level, _, rest = (part.strip() for part in text.partition(" in " if " in " in text else " "))
    if _is_language(rest) and (_level(level) or _is_fluency(level)):
        return {"language": rest, "fluency": level}
    leading, rest = _leading_level(text)
    if leading and _is_language(rest):
        return {"language": rest, "fluency": leading}
    first = re.match(
        rf"({_language_words()})(?:\s+|(?=[\u4e00-\u9fffA-Z]))[:：-]?\s*(\S.*)", text, re.IGNORECASE
    )
    return {"language": first[1], "fluency": first[2]} if first else {"language": text}


@cache
def _language_words() -> str:
    words = sorted(vocabulary().natural_languages, key=len, reverse=True)
    return "|".join(re.escape(word) for word in words)


def _is_language(text: str) -> bool:
    return (
        re.match(rf"(?:{_language_words()})(?!\w*[A-Za-z])", text.strip(), re.IGNORECASE)
        is not None
    )


def are_languages(text: str) -> bool:
    """Tell whether a list names natural languages, not those of programmers."""
    return any(_is_language(str(_language(word)["language"])) for word in split_words(text))


def _is_fluency(text: str) -> bool:
    return text.lower().strip() in vocabulary().fluency or bool(
        re.match(r"(?:CET|TEM|IELTS|TOEFL|雅思|托福|HSK|JLPT)", text, re.IGNORECASE)
    )


def interests(lines: Sequence[Line]) -> list[JsonObject]:
    """Return hobbies."""
    found: list[JsonObject] = []
    for line in lines:
        grouped = _GROUP.fullmatch(line.text)
        if grouped:
            found.append({"name": grouped[1], "keywords": _keywords(grouped[2])})
        else:
            found += [_skill(word, None) for word in split_words(line.text.strip("。."))]
    return found


def awards(lines: Sequence[Line]) -> list[JsonObject]:
    """Return prizes: one per line, the lines below it are its summary."""
    return _titled(lines, "awards", ("title", "awarder", "date", "summary"))


def certificates(lines: Sequence[Line]) -> list[JsonObject]:
    """Return certificates: a line each."""
    return _titled(lines, "certificates", ("name", "issuer", "date", "summary"))


def publications(lines: Sequence[Line]) -> list[JsonObject]:
    """Return articles and books: one per line, the lines below it are its summary."""
    return _titled(lines, "publications", ("name", "publisher", "releaseDate", "summary"))


def _titled(
    lines: Sequence[Line], section: str, fields: tuple[str, str, str, str]
) -> list[JsonObject]:
    title, giver, date, _ = fields
    found: list[JsonObject] = []
    for line in lines:
        label = label_of(line.text, section)
        if label and (label[0] != title or found):
            _put(found, label, title)
        elif found and _is_below(line, found[-1], lines, date):
            _add_below(found[-1], line.text, fields)
        else:
            text = label[1] if label else line.text
            found += [_titled_entry(part, title, giver, date) for part in _several(text)]
    return found


def _several(text: str) -> list[str]:
    """Split a line that lists several: "PMP、CET-6；CPA"."""
    if re.search(r"[、；]", text) and not find_span(text):
        return split_words(text.strip("。"))
    return [text]


def _put(found: list[JsonObject], label: tuple[str, str], title: str) -> None:
    field, value = label
    if field == title or not found:
        found.append({})
    dated = find_span(value) if field.lower().endswith("date") else None
    found[-1][field] = (dated.span.end or dated.span.start) if dated else value


def _is_below(line: Line, last: JsonObject, lines: Sequence[Line], date: str) -> bool:
    if line.style and line.style == lines[0].style:
        return False
    if lines[0].style or (line.bullet and not lines[0].bullet):
        return True
    bare_date = find_span(line.text)
    if bare_date and not bare_date.rest:
        return date not in last
    return not (line.bullet or is_short(line.text) or find_span(line.text))


def _add_below(entry: JsonObject, text: str, fields: tuple[str, str, str, str]) -> None:
    title, giver, date, summary = fields
    dated = find_span(text)
    if dated and date not in entry and display_width(dated.rest) <= 50 and is_short(text):
        more = _titled_entry(f"{entry.get(title)}\t{text}", title, giver, date)
        entry |= more
        return
    if giver not in entry and summary not in entry and is_short(text) and display_width(text) <= 60:
        entry[giver] = text
        return
    entry[summary] = f"{entry[summary]}\n{text}" if entry.get(summary) else text


def _titled_entry(text: str, title: str, giver: str, date: str) -> JsonObject:
    text, url = take_url(text)
    dated = find_span(text)
    bare = dated.rest if dated else text
    cited = _CITED.fullmatch(bare) if giver == "publisher" else None
    found = [cited[1] or cited[3], cited[2] or cited[4]] if cited else pieces(bare, 2)
    name, *rest = [part for part in found if part] or [text]
    if rest and is_firm(name) and not is_firm(rest[0]) and len(rest) == 1 and not cited:
        name, rest = rest[0], [name]
    aside = _ASIDE.fullmatch(name)
    if not rest and aside and is_firm(aside[2]):
        name, rest = aside[1], [aside[2]]
    entry: JsonObject = {title: name}
    if rest:
        entry[giver] = ", ".join(rest)
    if dated:
        entry[date] = dated.span.end or dated.span.start
    return entry | ({"url": url} if url else {})


def references(lines: Sequence[Line]) -> list[JsonObject]:
    """Return the people who recommend and what they say; a note that they exist is no reference."""
    found: list[JsonObject] = []
    for line in lines:
        if _ON_REQUEST.fullmatch(line.text):
            continue
        grouped = _GROUP.fullmatch(line.text)
        starts = not found or (
            is_short(line.text) and (line.gap or line.style or "reference" in found[-1])
        )
        if grouped and is_short(grouped[1]):
            found.append({"name": grouped[1], "reference": grouped[2]})
        elif starts:
            found.append({"name": line.text})
        else:
            before = found[-1].get("reference")
            found[-1]["reference"] = f"{before}\n{line.text}" if before else line.text
    return found


def is_on_request(text: str) -> bool:
    """Tell whether a line only says that references exist."""
    return _ON_REQUEST.fullmatch(text) is not None


def section_of_group(text: str, default: str) -> str:
    """Return the section of a line like "Languages: English, German" in a list of skills."""
    grouped = _GROUP.fullmatch(text)
    section = heading_section(grouped[1]) if grouped else None
    if grouped is None or section not in _LISTED:
        return default
    if section == "languages" and not are_languages(grouped[2]):
        return default
    return section
