"""Removes texts from a page, so that they cannot be extracted from below the new ones."""

from collections.abc import Mapping
from typing import Any

from pypdf import PageObject, PdfWriter
from pypdf.generic import (
    ArrayObject,
    ContentStream,
    DictionaryObject,
    FloatObject,
    NameObject,
    StreamObject,
)

from .pdf_page import ShowId, Shown

_SHOWS = (b"Tj", b"TJ", b"'", b'"')
_MAX_DEPTH = 12


class TextRemoval:
    """Removes the texts of some operators of one page; `done` has those that were removed."""

    def __init__(
        self, writer: PdfWriter, wanted: set[ShowId], shown: Mapping[ShowId, Shown]
    ) -> None:
        self._writer = writer
        self._wanted = wanted
        self._shown = shown
        self.done: set[ShowId] = set()

    def apply(self, page: PageObject) -> None:
        """Change the page's content. Forms that other pages use too are copied first."""
        content = page.get_contents()
        if content is None:
            return
        resources = own_dictionary(page, "/Resources")
        page[NameObject("/Contents")] = self._writer._add_object(
            self._rewritten(content, resources, ())
        )

    def _rewritten(self, content: Any, resources: Any, path: tuple[int, ...]) -> ContentStream:
        stream = ContentStream(content, self._writer)
        operations: list[tuple[Any, bytes]] = []
        shows = forms = 0
        for operands, operator in stream.operations:
            if operator in _SHOWS:
                operations.extend(self._show(operands, operator, (path, shows)))
                shows += 1
                continue
            if operator == b"Do":
                forms += 1
                operands = self._form(operands, resources, (*path, forms))
            elif operator == b"BDC":
                _without_text(operands)
            operations.append((operands, operator))
        stream.operations = operations
        return stream

    def _show(self, operands: Any, operator: bytes, show: ShowId) -> list[tuple[Any, bytes]]:
        """The same movement without the letters."""
        known = self._shown.get(show)
        if show not in self._wanted or known is None or _data(operands) != known.data:
            return [(operands, operator)]
        self.done.add(show)
        before: list[tuple[Any, bytes]] = []
        if operator == b'"':
            before = [([operands[0]], b"Tw"), ([operands[1]], b"Tc")]
        if operator in (b"'", b'"'):
            before.append(([], b"T*"))
        move = ArrayObject([FloatObject(round(-known.advance, 3))])
        return [*before, ([move], b"TJ")]

    def _form(self, operands: Any, resources: Any, path: tuple[int, ...]) -> Any:
        """Let a `Do` draw a copy of its form without the texts."""
        here = any(show[0][: len(path)] == path for show in self._wanted)
        if not here or len(path) > _MAX_DEPTH or "/XObject" not in resources:
            return operands
        forms = own_dictionary(resources, "/XObject")
        form = forms[operands[0]].get_object()
        if form.get("/Subtype") != "/Form":
            return operands
        copy = StreamObject()
        for key, value in form.items():
            if key not in ("/Length", "/Filter", "/DecodeParms"):
                copy[NameObject(key)] = value
        inner = own_dictionary(copy, "/Resources") if "/Resources" in copy else resources
        copy.set_data(self._rewritten(form, inner, path).get_data())
        name = NameObject(f"/Translated{'x'.join(map(str, path))}")
        forms[name] = self._writer._add_object(copy.flate_encode())
        return [name]


def own_dictionary(holder: Any, key: str) -> Any:
    """A dictionary that may be changed: pages share theirs."""
    own = DictionaryObject(holder[key].get_object()) if key in holder else DictionaryObject()
    holder[NameObject(key)] = own
    return own


def _data(operands: Any) -> bytes:
    last = operands[-1] if operands else b""
    pieces = last if isinstance(last, list) else [last]
    return b"".join(_bytes(piece) for piece in pieces if isinstance(piece, (str, bytes)))


def _bytes(text: Any) -> bytes:
    original = getattr(text, "original_bytes", None)
    return original if isinstance(original, bytes) else bytes(text)


def _without_text(operands: Any) -> None:
    """Marked content may say in plain words what was painted."""
    if len(operands) > 1 and isinstance(operands[1], dict):
        for key in ("/ActualText", "/Alt", "/E"):
            operands[1].pop(key, None)
