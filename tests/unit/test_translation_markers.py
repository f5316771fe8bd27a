"""Markers in segments: what looks different keeps its look wherever the words go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.translation import Segment, TranslationError, check_translations
from mcp_tools.translation.programs.sheet_names import usable_names, with_new_names
from mcp_tools.translation.programs.spans import Atom, MarkedText


def marked() -> MarkedText:
    return MarkedText(
        [
            Atom(None, "", "bookmark"),
            Atom("See ", "plain", "plain"),
            Atom("our site ", "link", "link"),
            Atom(None, "", "footnote"),
            Atom("for <1> more. ", "plain", "plain"),
        ]
    )


def told(text: MarkedText, translation: str) -> list[tuple[str | None, str]]:
    return [(atom.text, atom.source) for atom in text.read(translation)]


def test_looks_and_objects_are_marked_and_blanks_and_ends_are_not() -> None:
    assert marked().text == "See <1>our site</1> <2/>for \\<1> more."


def test_a_translation_may_move_markers() -> None:
    assert told(marked(), "<2/><1>Notre site</1> dit \\<1> plus.") == [
        (None, "bookmark"),
        (None, "footnote"),
        ("Notre site", "link"),
        (" dit <1> plus.", "plain"),
        (" ", "plain"),
    ]


def test_lost_invented_and_unclosed_markers_lose_no_words_and_no_objects() -> None:
    assert told(marked(), "Voir <1>notre <9>site</9> ici.") == [
        (None, "bookmark"),
        ("Voir notre site ici.", "plain"),
        (None, "footnote"),
        (" ", "plain"),
    ]


@given(st.text(st.sampled_from("ab <>/12\\"), max_size=30))
def test_reading_what_was_written_gives_the_same_text(text: str) -> None:
    atoms = [Atom(text, "a", "a"), Atom("x", "b", "b"), Atom(text, "c", "c")]
    whole = MarkedText(atoms)
    read = "".join(atom.text or "" for atom in whole.read(whole.text))
    assert read == f"{text}x{text}"


@pytest.mark.parametrize("text", [" ", "x" * 50_001, "a\x0bb", "a\ud800"])
def test_what_no_document_can_hold_is_no_translation(text: str) -> None:
    with pytest.raises(TranslationError, match="of p1 "):
        check_translations([Segment(id="p1", text="Hello")], {"p1": text})


def test_references_follow_sheets_and_texts_in_formulas_do_not() -> None:
    renamed = {"Sales data": "Umsatz", "Sum": "Große Summe", "A": "B"}
    formula = """='Sales data'!B5+Sum!A1&"Sum!A1"&XSum!A1&'Sum:Sales data'!A1&[1]Sum!A1"""
    assert with_new_names(formula, renamed) == (
        """=Umsatz!B5+'Große Summe'!A1&"Sum!A1"&XSum!A1&'Große Summe:Umsatz'!A1&[1]Sum!A1"""
    )


def test_names_of_sheets_become_what_excel_takes() -> None:
    names = usable_names(["a/b", "A b", "x" * 40, ""])
    assert names == ["a b", "A b 2", "x" * 31, "Sheet"]
