"""Search for the name of a company, a school or a person in a text, in any form."""

import re
from functools import cache, lru_cache
from pathlib import Path
from unicodedata import normalize

import yaml
from pydantic import TypeAdapter

_LEGAL = re.compile(
    r"(?:股份)?有限(?:责任)?公司|集团|公司|控股|科技|\b(?:inc|ltd|llc|plc|gmbh|corp(?:oration)?|co|company"
    r"|group|holdings|the|of|and|at|for|university|college|institute|school)\b\.?"
)
_PLACE = re.compile(
    r"北京|上海|天津|重庆|广州|深圳|杭州|南京|武汉|成都|西安|苏州|厦门|青岛|长沙|郑州|大连|中国|香港|台湾|澳门"
    r"|(?:华|东|西|南|北)?(?:东|西|南|北|中)方?|河北|河南|山东|山西|湖北|湖南|广东|广西|江苏|浙江|福建|安徽|四川"
)
_KIND = re.compile(r"^(?:大学|学院|银行|医院|中学|小学|证券|师范|理工|工业|科学|技术|交通)+")
_HAN = r"\u3400-\u9fff"


_LONGEST_RUN = 40
_RUN = re.compile(rf"(\d{{{_LONGEST_RUN}}}|[零〇一二两三四五六七八九十百千万亿]{{{_LONGEST_RUN}}})")


def readable(text: str) -> str:
    """Make full-width letters usual ones, and cut runs that are longer than any number."""
    return _RUN.sub(r"\1 ", normalize("NFKC", text))


def plain(text: str) -> str:
    """Full-width and capital letters are the same as others, blanks count once."""
    return " ".join(readable(text).casefold().split())


def is_named(name: str, said: str) -> bool:
    """Return whether a name, or a shorter or longer form of it, occurs in a plain text."""
    name = plain(name)
    if not _squeezed(name):
        return True
    forms = {name, *_aliases().get(name, ())}
    for alias, others in _aliases().items():
        if re.search(rf"[{_HAN}]", alias) and alias in name:
            forms |= {alias, *others}
    return any(_stands(form, said) for form in forms)


def listed_names(said: str) -> list[str]:
    """The names of `names.yaml` that stand in a plain text, Latin ones as whole words."""
    return [match[0] for match in _listed().finditer(said)]


def _stands(name: str, said: str) -> bool:
    if _squeezed(name) and _squeezed(name) in _squeezed(said):
        return True
    core = _squeezed(_LEGAL.sub(" ", name))
    if core and len(core) > 1 and core in _squeezed(said):
        return True
    words = [word for word in re.findall(r"[a-z0-9à-ÿ]+", _LEGAL.sub(" ", name)) if len(word) > 1]
    if words and not re.search(rf"[{_HAN}]", name):
        spoken = set(re.findall(r"[a-z0-9à-ÿ]+", said))
        return all(word in spoken for word in words) or _initials(name) in spoken
    return _is_abbreviated(core, said)


def is_place(text: str) -> bool:
    """Return whether a text is the name of a city or a country that companies add to theirs."""
    return _PLACE.fullmatch(text.strip()) is not None


def _initials(name: str) -> str:
    small = {"of", "the", "and", "for", "at", "in", "&"}
    letters = "".join(word[0] for word in re.split(r"[\s-]+", name) if word and word not in small)
    return letters if len(letters) > 2 else "\n"


def _is_abbreviated(core: str, said: str) -> bool:
    """Return whether a short form of a Chinese name occurs, such as 北大 for 北京大学."""
    own = _KIND.sub("", _PLACE.sub("", core))
    if len(own) > 1 and own[:2] in said:
        return True
    if not re.match(rf"[{_HAN}]", core):
        return False
    starting_alike = re.finditer(rf"(?=({core[0]}[{_HAN}]{{1,3}}))", said)
    shorts = {match[1][:length] for match in starting_alike for length in (2, 3, 4)}
    return any(
        len(short) > 1 and not _PLACE.fullmatch(short) and _within(short, core) for short in shorts
    )


def _within(short: str, name: str) -> bool:
    """Return whether the characters of a short form occur in a name in this order."""
    signs = iter(name)
    return all(sign in signs for sign in short)


@lru_cache(maxsize=8)
def _squeezed(text: str) -> str:
    return re.sub(r"[^\w]|_", "", text)


@cache
def _aliases() -> dict[str, tuple[str, ...]]:
    text = Path(__file__).with_name("names.yaml").read_text(encoding="utf-8")
    groups = TypeAdapter(list[list[str]]).validate_python(yaml.safe_load(text))
    return {name: tuple(group) for group in groups for name in group}


@cache
def _listed() -> re.Pattern[str]:
    """Finds the names that are no usual words, the longest first."""
    named = sorted((name for name in _aliases() if len(name) > 1), key=len, reverse=True)
    latin = "|".join(re.escape(name) for name in named if name.isascii())
    others = "|".join(re.escape(name) for name in named if not name.isascii())
    return re.compile(rf"(?<![a-z\d])(?:{latin})(?![a-z\d])|{others}")
