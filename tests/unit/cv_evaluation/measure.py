"""How many utterances and dialogues are settled rightly, and which are not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agents.cv.dialogue.decision import Act, Defer
from mcp_tools.resume import Language

from .judge import is_right
from .notation import Dialogue, Half, LabelledSet, Message
from .talk import Seen, Talk

KINDS = ("ADD", "UPDATE", "DELETE", "READ", "UNDO", "UNKNOWN", "dialogue")


@dataclass(frozen=True, slots=True)
class Case:
    """One utterance, or a dialogue, which is right only if every message is.

    `kind` is one of KINDS: the intent, or "dialogue"; `wrong` is what to show, "" if all is right.
    """

    half: Half
    language: Language
    kind: str
    wrong: str = field(repr=False)


def measured(labelled: LabelledSet) -> list[Case]:
    """Run and judge everything in a set."""
    cases = [_utterance(message, labelled) for message in labelled.utterances]
    return cases + [_dialogue(dialogue, labelled) for dialogue in labelled.dialogues]


def share(cases: Sequence[Case]) -> float:
    """Return how many of the cases are right, from 0 to 1; 1 when there are none."""
    return sum(not case.wrong for case in cases) / len(cases) if cases else 1.0


def table(cases: Sequence[Case]) -> str:
    """Return a line per half and language with "right/all" of every kind."""
    lines = [_line("", [*KINDS, "all", ""])]
    for half, language in sorted({(case.half, case.language) for case in cases}):
        some = [case for case in cases if (case.half, case.language) == (half, language)]
        counts = [_count(case for case in some if case.kind == kind) for kind in KINDS]
        lines.append(_line(f"{half} {language}", [*counts, _count(some), f"{share(some):.1%}"]))
    return "\n".join(lines)


def _utterance(message: Message, labelled: LabelledSet) -> Case:
    assert labelled.language is not None
    seen = Talk(labelled.resume, labelled.today).say(message.say)
    wrong = "" if is_right(message, seen) else _explained(message, seen)
    kind = message.intent[0] if message.intent else "UNKNOWN"
    return Case(labelled.half, labelled.language, kind, wrong)


def _dialogue(dialogue: Dialogue, labelled: LabelledSet) -> Case:
    """Judge up to the first wrong message; what follows it is only its consequence."""
    talk = Talk(labelled.resume, labelled.today)
    wrong = ""
    for number, message in enumerate(dialogue.turns, 1):
        seen = talk.say(message.say)
        if not is_right(message, seen):
            wrong = f"[{dialogue.name}, message {number}] {_explained(message, seen)}"
            break
    return Case(labelled.half, dialogue.language, "dialogue", wrong)


def _explained(message: Message, seen: Seen) -> str:
    wanted = message.model_dump(exclude_unset=True, exclude={"say"})
    return f"{message.say}\n    wanted {wanted}\n    seen   {_described(seen)}"


def _described(seen: Seen) -> str:
    said, decision = seen.outcome.recognition, seen.outcome.decision
    words = [said.intent.value, said.section or "-", f"{said.confidence:.2f}"]
    if isinstance(decision, Act):
        calls = (f"{call.name}{list(call.params.values())}" for call in decision.calls)
        words += [*calls, f"refused: {seen.refused}" if seen.refused else ""]
    elif isinstance(decision, Defer):
        words.append(f"model: {decision.reason}")
    else:
        words.append(f"{type(decision).__name__.lower()}s {decision.topic}")
        words += [str(item.model_dump(exclude={"intent"})) for item in seen.outcome.pending[-1:]]
    return " ".join(word for word in words if word)


def _count(cases: Iterable[Case]) -> str:
    rights = [not case.wrong for case in cases]
    return f"{sum(rights)}/{len(rights)}" if rights else "-"


def _line(head: str, cells: Sequence[str]) -> str:
    return f"{head:<12}" + "".join(f"{cell:>10}" for cell in cells)
