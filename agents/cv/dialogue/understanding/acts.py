"""What a message does in a dialogue when it is neither data nor an edit: it talks, asks, wishes."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Literal, get_args

from .commands import find_command
from .message import Message, plain, prepare
from .signals import find_signal
from .tokens import mask
from .vocabulary import vocabulary
from .writing import judges_writing, requests_politely, wishes_for_writing

Act = Literal["export", "diagnose", "question", "wish", "keep", "musing", "chat"]
_ORDER: tuple[Act, ...] = get_args(Act)
"""Which one counts when a message does several: "I see. And how long should it be?" asks."""
_CLAUSE = re.compile(r"[^,;.!?。、~…\n]+(?:\.(?=\S)[^,;.!?。、~…\n]*)*[?]?")
_LONGEST_WISH = 400
"""Characters; what is longer is told, not wished."""
_EDGES = " \t\n,;.!。、~…"


def find_act(text: str) -> Act | None:
    """Return what a message does, if none of its clauses is data or an edit.

    A question wins over what is told before it ("I stayed two months. Should I list it?"), but not
    over a command. A wish about the writing wins over all that is said with it.
    """
    message = _prepared(text)
    if find_signal(message):
        return None
    if _is_about_writing(message):
        return "wish"
    if not any(map(str.isalnum, text)) and not set(text) & {"?", "？"}:
        return "chat"
    found = [act for clause in _clauses(text) for act in _acts(clause)]
    done = next((act for act in _ORDER if act in found), None)
    if None not in found:
        return done or ("chat" if any(_clauses(text)) else None)
    told = [clause for clause in _clauses(text) if None in _acts(clause)]
    return done if done == "question" and not any(map(commands, told)) else None


def format_in(text: str) -> str:
    """Return the format of file that a text names; PDF when it names none."""
    found = (name for name, form in vocabulary().acts.formats.items() if form.search(text))
    return next(found, "pdf")


def without_talk(text: str) -> str:
    """Return a message without clauses that only talk where it begins: "哈哈，前端工程师"."""
    begin = 0
    for match in _CLAUSE.finditer(plain(text)):
        if [*_acts(match[0])] not in (["chat"], ["keep"], ["musing"]):
            break
        begin = match.end()
    rest = text[begin:].lstrip(_EDGES + "，；！？～") if begin else text
    return rest or text


def is_talk(value: str) -> bool:
    """Tell whether words that stand where a short value should are a sentence of talk."""
    words, value = vocabulary().acts, plain(value).strip()
    if not any(map(str.isalnum, value)):
        return True
    return not words.known.fullmatch(value) and words.sentence.search(value) is not None


def is_remark(value: str, text: str) -> bool:
    """Tell whether words of a text that nothing marks as a value are part of a remark."""
    words, said = vocabulary().acts, plain(text)
    begin = said.find(plain(value))
    clause = next((m[0] for m in _CLAUSE.finditer(said) if m.start() <= begin < m.end()), value)
    clause = clause.strip(_EDGES)
    if words.known.fullmatch(plain(value).strip()):
        return False
    return any(form.search(clause) for form in (words.sentence, words.clause))


def _is_about_writing(message: Message) -> bool:
    """Tell whether a message asks for other words before a value begins.

    How a text reads is only the reason of a concrete edit: "too vague, delete the second bullet".
    """
    if _ends_with_text(message):
        return False
    said = mask(plain(message.raw), message.tokens).partition(":")[0][:_LONGEST_WISH]
    asks = vocabulary().acts.question.search
    clauses = [c for c in _clauses(said) if requests_politely(c) or not asks(c)]
    if any(map(wishes_for_writing, clauses)):
        return True
    rest = [clause for clause in clauses if not judges_writing(clause)]
    return len(rest) < len(clauses) and not any(map(commands, rest))


def _ends_with_text(message: Message) -> bool:
    """Tell whether a message gives the words that it wants: "rephrase the second one to “…”"."""
    last = message.tokens[-1] if message.tokens else None
    if last is None or last.kind != "quote" or message.raw[last.stop :].strip(_EDGES):
        return False
    before = message.text[: last.begin].rstrip()
    words = vocabulary().connectors
    forms = (words.becomes, words.is_, *words.to)
    return any(match.end() == len(before) for form in forms for match in form.finditer(before))


def asks(text: str) -> bool:
    """Tell whether a message is a question, and no request in the form of one."""
    clauses = [*_clauses(text)]
    if not clauses or any(commands(one) or requests_politely(one) for one in clauses):
        return False
    return vocabulary().acts.interrogative.search(clauses[-1].strip(_EDGES)) is not None


def _acts(clause: str) -> Iterator[Act | None]:
    """Yield what one clause does; nothing for a signal, `None` for what may be data."""
    words = vocabulary().acts
    if words.chat.fullmatch(clause.strip(_EDGES + "?")) and not find_signal(_prepared(clause)):
        yield "chat"
        return
    while opening := words.opening.match(clause):
        rest = clause[opening.end() :].strip(_EDGES + ":")
        if not rest:
            break
        clause = rest
    clause = clause.strip(_EDGES)
    if not clause:
        return
    said = clause.rstrip("? ")
    forms = {act: getattr(words, act) for act in _ORDER if act != "chat"}
    message = _prepared(clause)
    if find_signal(message):
        return
    if words.chat.fullmatch(said) and not message.tokens:
        yield "chat"
        return
    yield next((act for act, form in forms.items() if form.search(clause)), None)


def commands(clause: str) -> bool:
    """Tell whether a clause is a command, or says what something becomes."""
    message = _prepared(clause)
    command = find_command(message)
    return bool(command and (command.heads or vocabulary().connectors.becomes.search(message.text)))


def _prepared(text: str) -> Message:
    return prepare(text, today=date.min)


def _clauses(text: str) -> Iterator[str]:
    return (match[0].strip() for match in _CLAUSE.finditer(plain(text)) if match[0].strip())
