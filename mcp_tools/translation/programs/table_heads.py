"""Column names of Excel tables, which must equal the cells of their first row."""

import re
from collections.abc import Sequence
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .namespaces import S
from .office_package import Package
from .sheet_names import follow_in_formulas

_AREA = re.compile(r"\$?([A-Z]{1,3})\$?(\d+):")
_SPECIAL = re.compile(r"(['\[\]#@])")


class TableHeads:
    """The tables of a workbook, looked up before any text is changed."""

    def __init__(self, package: Package, sheets: Sequence[str], strings: Sequence[Any]) -> None:
        self._package = package
        self._strings = strings
        self._heads = [
            (sheet, part)
            for sheet in sheets
            for _, kind, part in package.relations(sheet)
            if kind == "table" and package.has(part)
        ]

    def follow(self) -> None:
        """Name the columns as their cells are named now, also in formulas."""
        for sheet, part in self._heads:
            table = self._package.root(part)
            cells = self._cells(sheet, table)
            columns = list(table.iter(f"{S}tableColumn"))
            if table.get("headerRowCount") == "0" or len(cells) != len(columns):
                continue
            self._rename(part, table, columns, cells)

    def _cells(self, sheet: str, table: Any) -> list[Any]:
        area = _AREA.match(table.get("ref", ""))
        if area is None:
            return []
        first, count = _number(area[1]), len(list(table.iter(f"{S}tableColumn")))
        wanted = {f"{_letters(first + index)}{area[2]}": index for index in range(count)}
        found = {
            wanted[cell.get("r")]: cell
            for cell in self._package.root(sheet).iter(f"{S}c")
            if cell.get("r") in wanted
        }
        return [found[index] for index in sorted(found)]

    def _rename(self, part: str, table: Any, columns: list[Any], cells: list[Any]) -> None:
        renamed: dict[str, str] = {}
        taken: set[str] = set()
        for column, cell in zip(columns, cells, strict=True):
            text = self._text(cell)
            name, number = text, 2
            while name.casefold() in taken:
                name, number = f"{text} {number}", number + 1
            taken.add(name.casefold())
            if name != text:
                _put(cell, name)
            old = column.get("name", "")
            if _encoded(name) != old:
                self._package.change(part)
                column.set("name", _encoded(name))
                renamed[old] = name
        if renamed:
            names = {table.get("name", ""), table.get("displayName", "")} - {""}
            follow_in_formulas(self._package, lambda text: _renamed(text, names, renamed))

    def _text(self, cell: Any) -> str:
        value = cell.findtext(f"{S}v") or ""
        holder = cell.find(f"{S}is")
        if cell.get("t") == "s" and value.isdigit() and int(value) < len(self._strings):
            holder = self._strings[int(value)]
        if holder is None:
            return value
        return "".join(text.text or "" for text in holder.iter(f"{S}t"))


def _put(cell: Any, text: str) -> None:
    """Give one cell a text of its own."""
    for child in list(cell):
        cell.remove(child)
    cell.set("t", "inlineStr")
    etree.SubElement(etree.SubElement(cell, f"{S}is"), f"{S}t").text = text


def _renamed(formula: str, tables: set[str], renamed: dict[str, str]) -> str:
    """`Sales[Amount]` and `Sales[[#Totals],[Amount]]` with the columns' new names."""
    found = any(f"{name}[" in formula for name in tables)
    if not found:
        return formula
    for old, new in renamed.items():
        was, now = (_SPECIAL.sub(r"'\1", name) for name in (old, new))
        formula = formula.replace(f"[{was}]", f"[{now}]").replace(f"[@{was}]", f"[@{now}]")
    return formula


def _encoded(name: str) -> str:
    return name.replace("\r", "").replace("\n", "_x000a_")


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
