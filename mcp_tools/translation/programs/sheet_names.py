"""New names for sheets, in all that refers to them."""

import re
from collections.abc import Callable, Mapping, Sequence

from .namespaces import S
from .office_package import WORKBOOK, Package

MAX_NAME = 31
_BAD = re.compile(r"[\[\]:*?/\\\x00-\x1f]+")
_REFERENCE = re.compile(
    r'"(?:[^"]|"")*"'  # a text in a formula, where nothing refers
    r"|'((?:[^']|'')+)'!"
    r"|(?<![\w.\]'])([^\W\d][\w.]*(?::[^\W\d][\w.]*)?)!"
)
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_LIKE_A_CELL = re.compile(r"[A-Za-z]{1,3}\d+|[RrCc]\d*")
_FORMULAS = frozenset(
    {"f", "formula", "formula1", "formula2", "definedName", "calculatedColumnFormula", "sqref"}
)


def usable_names(wanted: Sequence[str]) -> list[str]:
    """Names as Excel takes them: at most 31 characters, none of `[]:*?/\\`, no two alike."""
    names: list[str] = []
    taken: set[str] = set()
    for wish in wanted:
        core = " ".join(_BAD.sub(" ", wish).split()).strip("'")[:MAX_NAME].strip() or "Sheet"
        name, number = core, 2
        while name.casefold() in taken:
            name = f"{core[: MAX_NAME - len(str(number)) - 1]} {number}"
            number += 1
        taken.add(name.casefold())
        names.append(name)
    return names


def rename_sheets(package: Package, renamed: Mapping[str, str]) -> None:
    """Rename sheets where they are named, and in formulas, links, charts and pivot tables."""
    for sheet in package.change(WORKBOOK).iter(f"{S}sheet"):
        sheet.set("name", renamed.get(sheet.get("name"), sheet.get("name")))
    follow_in_formulas(package, lambda formula: with_new_names(formula, renamed))
    for part in package.names("xl/worksheets/"):
        for link in package.root(part).iter(f"{S}hyperlink"):
            if link.get("location"):
                package.change(part)
                link.set("location", with_new_names(link.get("location"), renamed))
    for part in package.names("xl/pivotCache/", "pivotCacheDefinition"):
        for source in package.root(part).iter(f"{S}worksheetSource"):
            if source.get("sheet") in renamed:
                package.change(part)
                source.set("sheet", renamed[source.get("sheet")])


def follow_in_formulas(package: Package, new: Callable[[str], str]) -> None:
    """Replace all formulas of a workbook, in whatever part they stand."""
    for part in package.names("xl/"):
        for element in package.root(part).iter("{*}*"):
            if element.tag.rpartition("}")[2] not in _FORMULAS or not element.text:
                continue
            formula = new(element.text)
            if formula != element.text:
                package.change(part)
                element.text = formula


def with_new_names(formula: str, renamed: Mapping[str, str]) -> str:
    """A formula with its sheets renamed; its texts stay as they are."""

    def replaced(match: re.Match[str]) -> str:
        quoted, plain = match[1], match[2]
        if quoted is None and plain is None:
            return match[0]
        name = quoted.replace("''", "'") if quoted is not None else plain
        both = name.split(":")  # `'First:Last'!A1` is a row of sheets
        if not any(part in renamed for part in both):
            return match[0]
        new = ":".join(renamed.get(part, part) for part in both)
        if _PLAIN.fullmatch(new) and not _LIKE_A_CELL.fullmatch(new):
            return f"{new}!"
        return "'" + new.replace("'", "''") + "'!"

    return _REFERENCE.sub(replaced, formula)
