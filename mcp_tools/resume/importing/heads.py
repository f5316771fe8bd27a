"""Splits the head of an entry into who, what and where, by their form."""

import re
from collections.abc import Sequence
from functools import cache

from .lines import display_width
from .vocabulary import looks_like, vocabulary

_STRONG = re.compile(
    r"\s*[\t|｜¦]+\s*|\s+[·•∙‧∙]\s+|\s+(?:-{1,3}|[–—―]+|//?|@)\s+|\s*[—―]+\s*|[；;]\s*|，\s*"
    r"|(?<=[\u4e00-\u9fff])\s*·\s*(?=[\u4e00-\u9fff])"
)
_CJK_SPACE = re.compile(r"(?<=[\u4e00-\u9fff）)])\s+(?=[\u4e00-\u9fff（(])")
_CJK_DASH = re.compile(r"(?<=[\u4e00-\u9fff）)])\s*[-–/]\s*(?=[\u4e00-\u9fffA-Za-z])")
_AT = re.compile(r"(.+?)\s+(?:at|with|for)\s+(\S.*)", re.IGNORECASE)
_COMPANY_END = re.compile(
    r"(.+?(?:有限公司|公司|集团|银行|研究院|研究所|事务所|工作室|大学|学院))(?=\S{2,})(?![）)])(.+)"
)
_LEGAL = re.compile(
    r"(?:co\.?|inc\.?|ltd\.?|llc\.?|gmbh|corp\.?|ag|plc|s\.a\.|l\.p\.|limited|jr\.?)", re.IGNORECASE
)
_REGION = re.compile(r"[A-Z]{2}(?:\s+\d{5})?")
_LEADING_PLACE = re.compile(r"(.+?)\s*[(（]([^()（）]{1,40})[)）]")
_URL = re.compile(
    r"(?:https?://|www\.)[^\s,，;；|()（）<>\"'\u4e00-\u9fff]+"
    r"|(?<![@\w.-])(?:[a-z0-9-]{1,40}\.){1,4}(?:com|org|net|io|dev|cn|me|edu|ai|co|app|de|uk|info|tech|xyz|blog|page|site|example)"
    r"(?:\.[a-z]{2})?(?:/[^\s,，;；|()（）<>\"'\u4e00-\u9fff]*)?(?![\w@])",
    re.IGNORECASE,
)


def take_url(text: str) -> tuple[str, str | None]:
    """Take the first address of a page out of a text."""
    match = _URL.search(text)
    if match is None:
        return text, None
    url = match[0].rstrip(".。")
    rest = re.sub(r"[(（<]\s*[)）>]", "", text.replace(url, "", 1))
    return rest.strip(" \t:：|·,，-–—"), url


def pieces(text: str, wanted: int) -> list[str]:
    """Split a head at its separators; at weak ones only until there are as many as wanted."""
    found = [piece for part in _STRONG.split(text) if (piece := part.strip(" ,，:：-–"))]
    found = [part for piece in found for part in _without_place(piece)]
    for splitter in (_at, _chinese, _dashed, _commas, _company):
        if _unplaced(found) >= wanted:
            break
        found = [part for piece in found for part in splitter(piece)]
    return [piece for piece in found if piece]


def is_place(text: str) -> bool:
    """Tell whether a text is the name of a place, and nothing else."""
    words = vocabulary()
    text = re.sub(r"\s*，\s*", ", ", text.strip())
    lower = text.lower()
    if lower in words.places.en or lower in words.countries:
        return True
    if _chinese_place(text):
        return True
    *cities, region = (part.strip() for part in lower.split(","))
    original = text.rsplit(",", 1)[-1].strip()
    country = region in words.countries
    most = 2 if country else 1 if _REGION.fullmatch(original) else 0
    return 0 < len(cities) <= most and not any(map(_is_role_or_firm, cities))


def is_role(text: str) -> bool:
    """Tell whether a text looks like somebody's position."""
    return looks_like("positions", text)


def is_firm(text: str) -> bool:
    """Tell whether a text looks like an organization's name."""
    return looks_like("organizations", text)


def role_and_firm(found: Sequence[str]) -> tuple[str | None, str | None, list[str]]:
    """Choose the position and the organization among pieces; the rest is returned as well."""
    left = list(found)
    firm_first = max(left, key=lambda piece: (_firmness(piece), -left.index(piece)), default=None)
    if firm_first is None:
        return None, None, []
    if len(left) == 1:
        only = left[0]
        return (only, None, []) if _firmness(only) < 0 else (None, only, [])
    left.remove(firm_first)
    role = max(left, key=lambda piece: (-_firmness(piece), -left.index(piece)))
    left.remove(role)
    return role, firm_first, left


def _firmness(piece: str) -> int:
    """Say how much a piece is an organization (positive) rather than a position (negative)."""
    words = vocabulary()
    last_word = piece.lower().rsplit(" ", 1)[-1]
    department = _ends_as(piece, words.departments.zh) or last_word in words.departments.en
    firm = is_firm(piece) and not department
    ends_as_role = _ends_as(piece, words.positions.zh) or last_word in words.positions.en
    return 2 * firm - 2 * is_role(piece) - ends_as_role


def _ends_as(piece: str, words: frozenset[str]) -> bool:
    return re.sub(r"\s*[(（][^()（）]*[)）]$", "", piece).endswith(tuple(words))


def _is_role_or_firm(text: str) -> bool:
    return is_role(text) or is_firm(text)


def _unplaced(found: Sequence[str]) -> int:
    return sum(not is_place(piece) for piece in found)


def _chinese_place(text: str) -> bool:
    return display_width(text) <= 28 and _chinese_place_pattern().fullmatch(text) is not None


@cache
def _chinese_place_pattern() -> re.Pattern[str]:
    names = "|".join(vocabulary().places.zh)
    district = r"[\s·/,，-]{0,3}[\u4e00-\u9fff]{1,5}[市区县州]"
    return re.compile(
        rf"(?:中国[\s·,，]?)?(?:{names})[省市]?(?:[\s·/,，-]{{0,3}}(?:{names})市?)?(?:{district})?"
    )


def _without_place(piece: str) -> list[str]:
    """Split "Acme (Berlin)" and "Acme, Berlin, Germany" into the name and the place."""
    match = _LEADING_PLACE.fullmatch(piece)
    if match and is_place(match[2]):
        return [match[1].strip(" ,"), match[2].strip()]
    if is_place(piece):
        return [piece]
    parts = _comma_parts(piece)
    places = [part for part in parts[1:] if is_place(part)]
    if not places or parts[-1] != places[-1]:
        return [piece]
    return [", ".join(parts[:-1]), parts[-1]]


def _comma_parts(piece: str) -> list[str]:
    """Split at commas, but not "Acme, Inc." nor "Berlin, Germany"."""
    found: list[str] = []
    for part in (part.strip() for part in piece.split(",")):
        legal = _LEGAL.fullmatch(part)
        region = _REGION.fullmatch(part) or part.lower() in vocabulary().countries
        if (found and legal) or (len(found) > 1 and region and not _is_role_or_firm(found[-1])):
            found[-1] += f", {part}"
        elif part:
            found.append(part)
    return found


def _commas(piece: str) -> list[str]:
    return [piece] if is_place(piece) else _comma_parts(piece)


def _at(piece: str) -> list[str]:
    match = _AT.fullmatch(piece)
    if match and is_role(match[1]) and "," not in match[1]:
        return [match[1], match[2]]
    return [piece]


def _chinese(piece: str) -> list[str]:
    found = _CJK_SPACE.split(piece)
    if len(found) > 1 or " " not in piece or not re.search(r"[\u4e00-\u9fff]", piece):
        return found
    left, _, right = piece.partition(" ")
    before, _, last = piece.rpartition(" ")
    if is_role(right) and not is_role(left):
        return [left, right]
    return [before, last] if is_role(last) and not is_role(before) else [piece]


def _dashed(piece: str) -> list[str]:
    return _CJK_DASH.split(piece)


def _company(piece: str) -> list[str]:
    match = _COMPANY_END.fullmatch(piece)
    return [match[1], match[2]] if match and is_role(match[2]) else [piece]
