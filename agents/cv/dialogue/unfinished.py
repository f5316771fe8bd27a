"""Effects of short answers on unfinished business: abandon it, resume it, or not know."""

from mcp_tools.resume import JsonObject

from .adding import add
from .choosing import asked_again
from .decision import Ask, Defer, Say, Step
from .pending import Pending, PendingChoice, PendingEntry, PendingSection, PendingValue
from .understanding.recognition import Intent, Recognition, Signal

_ABOUT_UNFINISHED = ("cancel", "none", "unsure", "swap", "later", "go_on")


def on_signal(signal: Signal, pending: tuple[Pending, ...]) -> Step:
    """Decide on a message that is a signal."""
    if signal == "swap" and not _doubts(pending):
        return Step(Defer("unknown"), pending)
    if signal not in _ABOUT_UNFINISHED:
        return Step(Say(signal), pending)
    if not pending:
        return Step(Say("nothing_pending"), ())
    top = pending[-1]
    match signal, top:
        case "cancel", _:
            return Step(Say("dropped"), pending[:-1])
        case "none", PendingChoice() | PendingValue():
            return Step(Say("dropped"), pending[:-1])
        case "none", PendingEntry() if top.missing_fields == ("endDate",):
            return _completed(top, {"endDate": None}, pending)
        case "none" | "unsure", PendingEntry():
            return Step(Ask("needed"), pending)
        case "swap", PendingEntry():
            start, end = top.doubted["startDate"], top.doubted["endDate"]
            return _completed(top, {"startDate": end, "endDate": start}, pending)
        case "later", _:
            return Step(Say("later"), pending)
        case _:
            return Step(_asked_for(top), pending)


def _asked_for(top: Pending) -> Ask:
    """Return the question that something unfinished waits for."""
    match top:
        case PendingEntry():
            return Ask("missing")
        case PendingSection():
            return Ask("which_section")
        case PendingChoice():
            return asked_again(top)
        case PendingValue():
            return Ask("new_value" if top.field else "what_change")


def _doubts(pending: tuple[Pending, ...]) -> bool:
    """Tell whether two dates are asked about, because the end is before the start."""
    return bool(pending) and isinstance(pending[-1], PendingEntry) and bool(pending[-1].doubted)


def _completed(entry: PendingEntry, dates: JsonObject, pending: tuple[Pending, ...]) -> Step:
    said = Recognition(
        intent=Intent.ADD, section=entry.section, data=dates, answers=True, corrects=True
    )
    return add("", said, pending)
