"""The small words that structure a sentence, as the vocabulary holds them."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from .words import NOTHING, Forms, Words


class Part(BaseModel):
    """A part of the vocabulary; a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Grammar(Part):
    """Small words that structure a sentence.

    `introduces` stands between the name of a section and its content; `copula` between a field
    and its value, some words apart; `links` at the end of a value, before the next one;
    `next_clause` where another sentence goes on behind a value;
    `no_value` where a value would begin, when it is none; `label_before` a field that has its
    value behind it. `section_before` and `section_after` stand around a section that something
    is added to or taken from, `entry` and `field_before` before an entry and a field.
    `stated_before` ends right before what is said to be so, `denied` is what is said not to be,
    `renews` tells that something that is there is spoken of, `remarks` say why something shall go,
    `taken_from` stands between a value and the entry that loses it, `placed_before` between a new
    value and the entry that gets it. `original` is the value before a change, `joint` what joins
    commands, `object_first` how a command begins that names its object before its verb,
    `refers_back` an object that was named before the command, `place` is what may stand before one,
    `corrections` are sentences with an `old` and a `new` value. `named` are names of sections that
    end a proper name, `ranked` how a position begins, `joins_values` what tells one value from the
    next in a sentence. `graded` may stand beside a grade, `graded_lead` before and `graded_name`
    between it and the name. `own` says that something is the person's, not an entry's, and
    `renames` that it is the name which changes; `respectively` that each of some subjects has a
    value of its own. `more` goes on with a list, `promoted` are sentences with a new `position`,
    `risen` those that are so only with a date. `learnt` stands before courses, `again` begins a
    command to add one more, `sentence` is what it adds when that is a sentence, and `glued` is the
    `title` of an organisation with a `position` right behind it.
    """

    introduces: Words
    copula: Words
    links: Words
    next_clause: Words = NOTHING
    label_before: Words = NOTHING
    no_value: Words
    stated_before: Words
    denied: Words = NOTHING
    cut_wrongly: Words = NOTHING
    renews: Words = NOTHING
    taken_from: Words = NOTHING
    placed_before: Words = NOTHING
    remarks: Words = NOTHING
    section_before: Words
    section_after: Words
    entry: Words
    field_before: Words
    original: Words
    joint: Words
    object_first: Words
    corrections: Forms = ()
    refers_back: Words = NOTHING
    graded: Words
    graded_lead: Words
    graded_name: Words
    named: Words = NOTHING
    place: Words = NOTHING
    ranked: Words = NOTHING
    joins_values: Words = NOTHING
    own: Words
    renames: Words
    respectively: Words
    more: Words
    learnt: Words
    again: Words = NOTHING
    sentence: Words = NOTHING
    glued: Words = NOTHING
    promoted: Forms
    risen: Forms = ()
    numbers: Mapping[str, int]
