"""A table in a text file: its dialect, its columns with their types, its first rows."""

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from .pieces import UnreadableError, table
from .text_encoding import encoding_of

SHOWN_ROWS = 200
MAX_COLUMNS = 100
MAX_ROWS = 2_000_000
_SAMPLE = 64 * 1024
_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[-+]?\d{1,30}(?:[.,]\d{1,30})?(?:[eE][-+]?\d{1,3})?%?")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ][\d:.+Z-]{1,20})?")
_TYPED_ROWS = 1_000


def pieces(path: Path) -> Iterator[str]:
    """Yield a description of the table, then its first rows."""
    encoding = encoding_of(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        sample = file.read(_SAMPLE)
    delimiter = _delimiter(sample, path.suffix.lower())
    csv.field_size_limit(2**20)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        try:
            first = list(islice(reader, _TYPED_ROWS))
            rest = sum(1 for _ in islice(reader, MAX_ROWS))
        except csv.Error as error:
            raise UnreadableError("broken") from error
    head, rows = (first[0], first[1:]) if first and _is_head(first) else ([], first)
    width = max((len(row) for row in first), default=0)
    count = f"{len(rows) + rest} rows" if rest < MAX_ROWS else f"more than {MAX_ROWS} rows"
    kind = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}[delimiter]
    yield f"Table of {count} × {width} columns; {encoding}, separated by {kind}"
    names = [_name(head, index) for index in range(min(width, MAX_COLUMNS))]
    if width > MAX_COLUMNS:
        yield f"[{width - MAX_COLUMNS} more columns are left out]"
    yield table([["column", "type", "empty"], *_columns(names, rows)])
    yield table([names, *(row[:MAX_COLUMNS] for row in rows[:SHOWN_ROWS])])
    if len(rows) + rest > SHOWN_ROWS:
        yield f"[only the first {SHOWN_ROWS} rows are shown; analyse the rest with code]"


def _delimiter(sample: str, suffix: str) -> str:
    """The one that cuts most lines into equally many fields."""
    if suffix == ".tsv":
        return "\t"
    lines = [line for line in sample.splitlines()[:50] if line.strip()]

    def score(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        common = max(set(widths), key=widths.count, default=1)
        return (widths.count(common) if common > 1 else 0, common)

    return max(_DELIMITERS, key=score)


def _is_head(rows: list[list[str]]) -> bool:
    """Names are filled, no numbers, and differ from each other."""
    names = [name.strip() for name in rows[0]]
    return all(name and _type(name) == "text" for name in names) and len(set(names)) == len(names)


def _name(head: list[str], index: int) -> str:
    return head[index].strip() if index < len(head) else f"column {index + 1}"


def _columns(names: list[str], rows: list[list[str]]) -> Iterator[list[str]]:
    for index, name in enumerate(names):
        values = [row[index].strip() if index < len(row) else "" for row in rows]
        types = {_type(value) for value in values if value}
        kind = types.pop() if len(types) == 1 else "mixed" if types else "empty"
        yield [name, kind, str(values.count(""))]


def _type(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return "number"
    return "date" if _DATE.fullmatch(value) else "text"
