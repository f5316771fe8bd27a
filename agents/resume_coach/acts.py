"""What a person does with a message, by rules: tells, asks, wishes, agrees, refuses, talks.

Pure: it depends on the words alone. Whether a statement answers an open question is decided where
the question is known (`mcp_tools.resume.diagnosis.is_answer`).
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict

from mcp_tools.resume.diagnosis import is_measured, tells_deed
from oda.orchestration.rules import trimmed

_LONGEST = 300
"""Characters; a longer message tells something, and is no command."""
_MOST_MENDED = 12
"""Words; in a longer message slips of the pen do not matter."""


class Act(StrEnum):
    """What somebody does with a message."""

    CONTINUE = "CONTINUE"
    """It states something, which may be an answer."""
    NOTHING = "NOTHING"
    """It states that there is nothing to tell."""
    CONFIRM = "CONFIRM"
    REJECT = "REJECT"
    SKIP = "SKIP"
    BACKTRACK = "BACKTRACK"
    PAUSE = "PAUSE"
    QUESTION = "QUESTION"
    WISH = "WISH"
    """About what was proposed: shorter, in other words."""
    REQUEST = "REQUEST"
    """Something else is to be done: a file, the list of tasks."""
    TALK = "TALK"
    """Thanks, feelings, thinking aloud."""


About = Literal[
    "example",
    "meaning",
    "how",
    "needed",
    "left",
    "score",
    "self",
    "privacy",
    "why",
    "replace",
    "remove",
    "shorter",
    "other",
    "export",
    "tasks",
    "changes",
    "resume",
]
"""What a question, a wish or a request is about."""


@dataclass(frozen=True)
class Understood:
    """A message as it is taken."""

    act: Act
    said: str = ""
    """The rest of the message, without the words of the act."""
    target: str | None = None
    """Target of a `BACKTRACK`: a section, a task or its number in the person's words; "" for the
    last.
    """
    about: About | None = None
    old: str = ""
    """What a `WISH` wants replaced or removed."""
    new: str = ""
    choice: int | None = None
    """The number of the wording that is chosen, if it is no more than that."""
    is_dictated: bool = False
    """Whether the person has said that it is to be written."""
    is_unsure: bool = False
    """Whether it may as well be talk."""


def understand(message: str) -> Understood:
    """Tell what a message is."""
    text = trimmed(_plain(message))
    if not text:
        return Understood(Act.TALK)
    if (dictated := _acts().dictated.match(_plain(message).strip())) is not None:
        return Understood(Act.CONTINUE, dictated["rest"].strip(), is_dictated=True)
    if len(text) > _LONGEST:
        return Understood(Act.CONTINUE, message.strip())
    if (choice := _choice(text)) is not None:
        return Understood(Act.CONTINUE, message, choice=choice)
    found = _command(text)
    if found is None or (found.act is Act.CONFIRM and _ASKING.search(_plain(message))):
        found = _utterance(message, text)
    return found if found.act is not Act.CONTINUE or found.said else replace(found, said=message)


def _choice(text: str) -> int | None:
    for number, pattern in enumerate(_acts().choices, 1):
        if pattern.fullmatch(text):
            return number
    return None


def _command(text: str) -> Understood | None:
    for act, patterns in _acts().commands.items():
        for pattern in patterns:
            if found := pattern.fullmatch(text):
                named = found.groupdict()
                rest = (named.get("rest") or "").strip()
                inner = understand(rest) if rest else None
                if inner and inner.act not in (Act.CONTINUE, Act.TALK, Act.CONFIRM):
                    return inner
                told = rest if inner and inner.act is Act.CONTINUE else ""
                return Understood(act, told, named.get("target"))
    return None


def _utterance(message: str, text: str) -> Understood:
    """Take a message that is no command as a whole."""
    acts, marked = _acts(), _ADDRESS.sub("address0", _plain(message).strip())
    core = _mended(_core(marked))
    if (about := acts.request(core)) is not None:
        return Understood(Act.REQUEST, about=about)
    if acts.nothing.match(core) or acts.nothing.match(marked):
        return Understood(Act.NOTHING, core)
    asks_first = _INTERROGATIVE.match(core)
    if not asks_first and (wish := acts.wish(core)) is not None:
        names_words = wish.about in ("replace", "remove")
        if names_words or not (tells_deed(core) and is_measured(core)):
            return wish
    if acts.question(core):
        return Understood(Act.QUESTION, about=acts.topic(core))
    if (talked := _talked(marked)) is not None:
        return talked
    if core and core != marked and (rest := trimmed(core)) and (command := _command(rest)):
        return command
    said = _YES.sub("", message.strip())
    if not acts.talk.holds(core):
        return Understood(Act.CONTINUE, said)
    tells, measures = tells_deed(core), is_measured(core)
    if (tells and measures) or (tells and not _ADDRESSED.search(core) and len(core) > _PHRASE):
        return Understood(Act.CONTINUE, said, is_unsure=not (tells and measures))
    if tells or measures or any(char.isdigit() for char in core):
        return Understood(Act.CONTINUE, said, is_unsure=True)
    return Understood(Act.TALK)


def _talked(text: str) -> Understood | None:
    """Return what it is where a clause of it is talk and none tells anything."""
    clauses = [one for part in _CLAUSE.split(_mended(text)) if (one := trimmed(part))]
    is_talk = [_acts().talk.is_whole(clause) for clause in clauses]
    told = any(tells_deed(clause) or any(map(str.isdigit, clause)) for clause in clauses)
    return Understood(Act.TALK) if all(is_talk) or (any(is_talk) and not told) else None


_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://\S+|www\.\S+", re.ASCII)
_CLAUSE = re.compile(r"[,.;:!?\n~，。；：！？、…]+")
_INTERROGATIVE = re.compile(
    r"(?:why|how(?! about)|what(?! about| if you)|为[什神甚]么|为啥|怎么(?!样)|如何|什么|哪|which"
    r"|给个?(?:例子|模板|参考|提示|思路|范例|示例)|.*会.{0,6}[吗么]\W*$)",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\b(?:you|your)\b|[你您]", re.IGNORECASE)
_PHRASE = 20
"""Characters; a longer statement with a deed may be one whatever it begins with."""
_ASKING = re.compile(r"\?\s*$")
_YES = re.compile(
    r"^(?:(?:yes|yeah|yep|ok(?:ay)?|sure|well|hm+|好[的吧]?|是的?|对|嗯+)[,，.。!！、]\s*)+"
    r"(?:(?:and also|and|also) |还有|另外)?",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z]{4,}")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'").replace("`", "'")


def _core(text: str) -> str:
    """Return a message without words before it that do not change what it is."""
    return text[found.end() :] if (found := _acts().lead.match(text)) else text


def _mended(text: str) -> str:
    """Return a short message with the slips in its keywords put right."""
    if len(text.split()) > _MOST_MENDED:
        return text

    def mended(match: re.Match[str]) -> str:
        word = match[0].lower()
        near = get_close_matches(word, _acts().keywords, n=1, cutoff=0.75)
        if (
            not near
            or near[0][0] != word[0]
            or near[0].startswith(word)
            or word.startswith(near[0])
        ):
            return match[0]
        is_swapped = sorted(near[0]) == sorted(word)
        return near[0] if is_swapped or _is_near(near[0], word) else match[0]

    return _TOKEN.sub(mended, text)


def _is_near(keyword: str, word: str) -> bool:
    return bool(get_close_matches(word, [keyword], cutoff=0.86))


def _compiled(value: object) -> object:
    return re.compile(value, re.IGNORECASE) if isinstance(value, str) else value


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class _Question(_Record):
    opens: Sequence[Pattern]
    holds: Sequence[Pattern]
    unless: Pattern


class _Wish(_Record):
    holds: Sequence[Pattern]
    kinds: Mapping[About, Sequence[Pattern]]


class _Talk(_Record):
    whole: Sequence[Pattern]
    holds_: Sequence[Pattern]

    def is_whole(self, clause: str) -> bool:
        return any(pattern.fullmatch(clause) for pattern in self.whole)

    def holds(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self.holds_)


class _Acts(_Record):
    """The keys are those of `acts.yaml`."""

    commands: Mapping[Act, Sequence[Pattern]]
    lead: Pattern
    question_: _Question
    about: Mapping[About, Pattern]
    wish_: _Wish
    talk: _Talk
    request_: Mapping[About, Sequence[Pattern]]
    dictated: Pattern
    nothing: Pattern
    choices: Sequence[Pattern]
    keywords: Sequence[str]

    def question(self, text: str) -> bool:
        clauses = [one.strip() for one in _SENTENCE.split(text) if one.strip()]
        if any(one.match(clause) for clause in clauses for one in self.question_.opens):
            return True
        found = (match for one in self.question_.holds for match in one.finditer(text))
        return any(
            text[match.start()] in "?？" or not self.question_.unless.search(text[: match.start()])
            for match in found
        )

    def topic(self, text: str) -> About:
        return next(name for name, pattern in self.about.items() if pattern.search(text))

    def wish(self, text: str) -> Understood | None:
        bare = text.strip(" \t.。!！~?？")
        if not any(pattern.search(bare) for pattern in self.wish_.holds):
            return None
        for kind, patterns in self.wish_.kinds.items():
            for pattern in patterns:
                if match := pattern.search(bare):
                    named = match.groupdict()
                    old, new = ((named.get(name) or "").strip() for name in ("old", "new"))
                    return Understood(Act.WISH, bare, about=kind, old=old, new=new)
        return None

    def request(self, text: str) -> About | None:
        bare = text.strip(" \t.。!！~")
        for name, patterns in self.request_.items():
            if any(pattern.search(bare) for pattern in patterns):
                return name
        return None


_SENTENCE = re.compile(r"[,;:!\n~，。；：！、…]+|\.(?=\s|$)")


@cache
def _acts() -> _Acts:
    told = yaml.safe_load(Path(__file__).with_name("acts.yaml").read_text(encoding="utf-8"))
    talk = told["TALK"]
    return _Acts.model_validate(
        {
            **{
                key: told[key]
                for key in ("commands", "lead", "about", "dictated", "nothing", "choices")
            },
            "keywords": told["keywords"],
            "question_": told["QUESTION"],
            "wish_": told["WISH"],
            "talk": {"whole": talk["whole"], "holds_": talk["holds"]},
            "request_": told["REQUEST"],
        }
    )
