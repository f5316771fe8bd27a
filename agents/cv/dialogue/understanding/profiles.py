"""Accounts on social networks: "加个LinkedIn账号，用户名xm", "my GitHub is github.com/xm"."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mcp_tools.resume import JsonObject

from .canvas import Canvas
from .commands import CommandHit
from .confidence import CERTAIN, LIKELY
from .message import Message
from .outline import Outline
from .recognition import Intent, Recognition, Target
from .sections import find_nouns
from .vocabulary import vocabulary

FIELD = "profiles"
"""The field of the basics that holds the accounts."""
_HANDLE = r"@?(?P<handle>[a-z\d][\w.\-]*)(?=\s*(?:[,;。!?\n\x1f]|$|[\u4e00-\u9fff]))"


@dataclass(frozen=True, slots=True)
class _Network:
    """A network named at `begin:stop`; its name as it was written where that is Chinese."""

    name: str
    host: str
    begin: int
    stop: int


def understand_profile(
    message: Message, command: CommandHit | None, outline: Outline
) -> Recognition | None:
    """Understand a message about an account; `None` if it is not about one."""
    network = _named_network(message, outline)
    if network is None:
        return None
    canvas = Canvas(message)
    canvas.take(network.begin, network.stop)
    profile = _values(message, network)
    labels = [found.field for found in vocabulary().accounts.labels.find(canvas.text)]
    if not (profile or labels or _stands_alone(canvas, network, command)):
        return None
    intent = command.intent if command else Intent.UPDATE
    asks = intent in (Intent.READ, Intent.DELETE)
    if not (asks or profile or command):
        return None
    fields = tuple(dict.fromkeys(f"{FIELD}.{name}" for name in labels if name != "account"))
    return Recognition(
        intent=intent,
        section="basics",
        data={FIELD: [{"network": network.name, **profile}]} if profile and not asks else {},
        fields=(fields if asks else ()) or (FIELD,),
        target=Target(names=(network.name,)),
        confidence=CERTAIN if profile or labels else LIKELY,
    )


def account_at(url: str) -> JsonObject | None:
    """Return the account that an address leads to; `None` if it is of no known network."""
    hosts = ((entry["network"], entry.get("host")) for entry, _ in _networks())
    found = next((name for name, host in hosts if host and host in url.lower()), None)
    return {"network": found, "url": url} if found else None


def same_network(one: str, other: str) -> bool:
    """Tell whether two names mean the same network."""
    return _canonical(one) == _canonical(other)


def _named_network(message: Message, outline: Outline) -> _Network | None:
    """Return the network that is named, unless as a part of something else."""
    found = [
        (entry, match) for entry, words in _networks() if (match := words.search(message.text))
    ]
    if not found or any(noun.section != "basics" for noun in find_nouns(Canvas(message))):
        return None
    titles = outline.mentions(message.text)
    for entry, match in found:
        if not any(t.begin < match.end() and match.start() < t.stop for t in titles):
            said = match[0]
            name = entry["network"] if said.isascii() else said
            return _Network(name, entry.get("host", ""), *match.span())
    return None


def _values(message: Message, network: _Network) -> JsonObject:
    """Return the address and the name of the account that a message gives."""
    urls = [token.text for token in message.tokens if token.kind == "url"]
    own = [url for url in urls if network.host and network.host in url.lower()]
    handle = _handle_form().search(message.text, network.stop) or _named_user().search(
        message.text, network.stop
    )
    found: JsonObject = {}
    if handle:
        found["username"] = message.value(*handle.span("handle"))
    if urls:
        found["url"] = (own or urls)[0]
    return found


def _stands_alone(canvas: Canvas, network: _Network, command: CommandHit | None) -> bool:
    """Tell whether a command is about the network and nothing else: "看看我的GitHub"."""
    if command is None:
        return False
    rest = canvas.copy()
    rest.take(command.begin, command.stop)
    filler = vocabulary().references.filler
    return not any(rest.trimmed(*segment, filler) for segment in rest.segments())


def _canonical(name: str) -> str:
    found = (entry["network"] for entry, words in _networks() if words.fullmatch(name))
    return str(next(found, name)).casefold()


@cache
def _networks() -> tuple[tuple[dict[str, Any], re.Pattern[str]], ...]:
    text = Path(__file__).with_name("networks.yaml").read_text(encoding="utf-8")
    return tuple(
        (
            entry,
            re.compile(rf"(?<![a-z\d])(?:{'|'.join(entry['words'])})(?![a-z\d])", re.IGNORECASE),
        )
        for entry in yaml.safe_load(text)
    )


@cache
def _named_user() -> re.Pattern[str]:
    """Match a name in any letters behind the words for one."""
    names = vocabulary().accounts.labels.pattern_of("username")
    connectors = vocabulary().connectors
    to = rf"(?:{connectors.becomes.pattern}|{connectors.is_.pattern})"
    return re.compile(
        rf"(?:{names})\s*(?:{to})?\s*(?P<handle>[^\s,;。!?\x1f的是]{{2,}})", re.IGNORECASE
    )


@cache
def _handle_form() -> re.Pattern[str]:
    """Match the name of an account behind a label or what connects it with one."""
    words = vocabulary()
    labels, connectors = words.accounts.labels.any_word.pattern, words.connectors
    to = "|".join(form.pattern for form in connectors.to)
    between = rf"(?:{connectors.becomes.pattern}|{to}|{connectors.is_.pattern})"
    return re.compile(rf"(?:(?:{labels})\s*(?:{between})?|{between})\s*{_HANDLE}", re.IGNORECASE)
