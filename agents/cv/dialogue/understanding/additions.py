"""Understanding what is to be added: commands, statements of fact, and answers to a question."""

from dataclasses import replace

from mcp_tools.resume import JsonObject, Section, title_field

from .canvas import Canvas
from .commands import CommandHit, verb_span
from .confidence import CERTAIN, CLEAR, GUESS, LIKELY
from .continuing import understand_one_more
from .details import understand_detail
from .extraction import extract
from .fields import Fields, put_words
from .labelled import Label, find_labelled, find_labels
from .leading import take_leading
from .listed import grade_of
from .message import Message
from .outline import Outline
from .recognition import Intent, Recognition
from .sections import Noun, find_nouns, find_statement, labelled_section, main_noun
from .vocabulary import section_facts, vocabulary


def understand_addition(
    message: Message, command: CommandHit, outline: Outline, into: Section | None = None
) -> Recognition:
    """Understand a message that commands to add; `into` is a section that it need not name."""
    canvas = Canvas(message)
    verb = verb_span(message, command)
    canvas.take(*verb)
    noun = _destination(canvas, verb[1]) or _noun(canvas)
    if detail := understand_detail(message, command, outline):
        return detail
    if more := understand_one_more(message, command, outline):
        return more
    section = noun.section if noun else into
    confidence = CERTAIN
    if section is None:
        confidence = CLEAR
        again = vocabulary().grammar.again.match(message.text, verb[0])
        last = outline.focus.section if outline.focus and again else None
        stated = find_statement(canvas.text)
        section = (stated if stated != "basics" else None) or last or stated or _by_content(canvas)
    if section is None:
        return Recognition(intent=Intent.ADD, confidence=GUESS)
    if noun and (colon := _end_of_heading(canvas)):
        canvas.take(0, colon)
    elif noun and not noun.named:
        grammar = vocabulary().grammar
        before = grammar.section_before.search(canvas.text, 0, noun.begin)
        after = grammar.section_after.match(canvas.text, noun.stop)
        begin = before.start() if before else noun.begin
        canvas.take(begin, after.end() if after else noun.stop)
    labels = find_labels(canvas, section) if section == "basics" else []
    given = _given_as(canvas, verb[1], labels[0]) if labels else take_leading(canvas, section)
    added = _added(extract(canvas, section, given=given), confidence)
    return added if added.data else replace(added, fields=tuple(found.field for found in labels))


def understand_statement(message: Message) -> Recognition | None:
    """Understand a sentence that states a fact for the resume, if it is one."""
    canvas = Canvas(message)
    nouns = find_nouns(canvas)
    if (noun := _introducing(canvas, nouns)) and noun.section != "basics":
        introduces = vocabulary().grammar.introduces.match(canvas.text, noun.stop)
        canvas.take(0, introduces.end() if introduces else noun.stop)
        fields = extract(canvas, noun.section, given=take_leading(canvas, noun.section))
        return _added(fields, CLEAR) if fields.data else None
    section = find_statement(message.text)
    if section is None:
        return None
    fields = extract(canvas, section)
    stated = _added(fields, CLEAR)
    if section == "basics":
        stated = replace(stated, intent=Intent.UPDATE)
    return stated if fields.data or fields.problems else None


def understand_listing(message: Message) -> Recognition | None:
    """Understand "腾讯，前端工程师，2021-2023": a time and something that looks like a field."""
    if not any(token.when for token in message.tokens):
        return None
    canvas = Canvas(message)
    for token in message.tokens:
        canvas.take(token.begin, token.stop)
    section = _by_looks(canvas)
    return _added(extract(Canvas(message), section), LIKELY) if section else None


def understand_form(message: Message, outline: Outline) -> Recognition | None:
    """Understand "company: Grab, position: developer, …": fields with their values only."""
    canvas = Canvas(message)
    noun = next(iter(find_nouns(canvas)), None)
    if noun and canvas.trimmed(0, noun.begin) is None:
        canvas.take(noun.begin, noun.stop)
    else:
        noun = None
    section = noun.section if noun else labelled_section(canvas, basics=False)
    found = list(find_labelled(canvas, section)) if section else []
    single = noun is not None and not message.text[noun.begin : noun.stop].endswith("s")
    if section in (None, "basics") or not (found or single) or outline.mentions(message.text):
        return None
    opens = noun is not None or canvas.trimmed(0, found[0].begin) is None
    fields = extract(canvas, section, given=take_leading(canvas, section))
    whole = title_field(section) in fields.data and len(fields.data) > 1
    return _added(fields, CLEAR) if opens and whole else None


def understand_unknown(
    message: Message, changed: Recognition, outline: Outline
) -> Recognition | None:
    """Understand "兼职做过家教，2009到2010" as a new entry where no entry has the name."""
    section, names = changed.section, changed.target.names
    known = any(outline.find(name) for name in names)
    dates = {"startDate", "endDate"}
    if section in (None, "basics") or not names or known or changed.data.keys() != dates:
        return None
    canvas = Canvas(message)
    for noun in find_nouns(canvas):
        canvas.take(noun.begin, noun.stop)
    return _added(extract(canvas, section), LIKELY)


def missing_fields(section: Section, data: object) -> tuple[str, ...]:
    """Return the required fields of an entry that are not there."""
    present = data if isinstance(data, dict) else {}
    return tuple(name for name in section_facts()[section].required if name not in present)


def _added(fields: Fields, confidence: float) -> Recognition:
    return Recognition(
        intent=Intent.ADD,
        section=fields.section,
        data=fields.data,
        others=tuple(fields.others),
        missing_fields=missing_fields(fields.section, fields.data),
        problems=tuple(fields.problems),
        confidence=confidence,
    )


def _given_as(canvas: Canvas, begin: int, label: Label) -> JsonObject:
    """Take a value that stands before the name of its field: "put Berlin as my city"."""
    between = vocabulary().grammar.field_before.search(canvas.text, begin, label.begin)
    if between is None or canvas.trimmed(label.stop, len(canvas.text)):
        return {}
    fields = Fields("basics")
    denied = vocabulary().grammar.denied.search(canvas.text, begin, between.start())
    stop = denied.start() if denied else between.start()
    put_words(fields, canvas, label.field, begin, stop)
    canvas.take(begin, label.stop)
    return fields.data


def _destination(canvas: Canvas, verb_end: int) -> Noun | None:
    """Return the noun that a verb of motion ends at: "加到奖项里"."""
    if not vocabulary().grammar.section_before.search(canvas.message.text, 0, verb_end):
        return None
    rest = canvas.text[verb_end:]
    begin = verb_end + len(rest) - len(rest.lstrip())
    return next((noun for noun in find_nouns(canvas) if noun.begin == begin), None)


def _noun(canvas: Canvas) -> Noun | None:
    """Return the noun that says what is added; one behind a colon belongs to the content."""
    nouns = find_nouns(canvas)
    colon = canvas.text.find(":")
    before = [noun for noun in nouns if colon < 0 or noun.begin < colon]
    return main_noun(canvas, before or nouns, last=False)


def _end_of_heading(canvas: Canvas) -> int:
    """Return where a colon ends what says nothing but where to add; 0 if there is none."""
    colon = canvas.text.find(":")
    heading = canvas.until(max(colon, 0))
    for noun in find_nouns(heading):
        heading.take(noun.begin, noun.stop)
    filler = vocabulary().references.filler
    said = (heading.trimmed(*segment, filler) for segment in heading.segments())
    return colon + 1 if colon >= 0 and not any(said) else 0


def _introducing(canvas: Canvas, nouns: list[Noun]) -> Noun | None:
    """Return the noun that introduces a list or a description: "技能：…", "my skills are …"."""
    if not nouns:
        return None
    first = nouns[0]
    led = canvas.trimmed(0, first.begin, vocabulary().references.filler) is None
    follows = vocabulary().grammar.introduces.match(canvas.text, first.stop)
    return first if led and follows else None


def _by_content(canvas: Canvas) -> Section | None:
    """Guess the section from the names of fields and the looks of values."""
    colon = canvas.text.find(":")
    if named := labelled_section(canvas.until(colon) if colon >= 0 else canvas, basics=True):
        return named
    kinds = {token.kind for token in canvas.message.tokens}
    if kinds & {"email", "phone"}:
        return "basics"
    return _by_looks(canvas)


def _by_looks(canvas: Canvas) -> Section | None:
    """Return the section of whose fields most look like the words; a school is for education."""
    rest = [canvas.text[begin:stop] for begin, stop in canvas.segments()]
    fitting = {
        section: sum(
            any(look.fullmatch(text) for text in rest)
            for name, look in vocabulary().sections[section].looks.items()
            if name != section_facts()[section].grade
        )
        for section in dict.fromkeys(("education", *vocabulary().sections))
    }
    best = max(fitting, key=lambda section: fitting[section])
    if fitting[best]:
        return best
    return "skills" if any(grade_of(text) for text in rest) else None
