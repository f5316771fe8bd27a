"""The largest requests that a server allows, in the shapes that cost most, for each operation."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from oda.settings import LimitSettings

Schema = Mapping[str, Any]

_TEXTS = ("a", "中", " ", '"\\', "1+", "(", "\n- ", "a@b.", "2020-01 ", "，和", "{[", "<a ")
"""Small pieces that texts are made of; each is somewhere the start of something."""
_FEW = ("1+", "中")
_ID = "x" * 128
_DEPTH = 5
"""How many objects and lists in one another are gone into."""
_ROOM = 200
"""Bytes and values that are left for what stands around a worst value."""


@dataclass(frozen=True)
class Worst:
    """A request, and what makes it bad."""

    method: str
    path: str
    shape: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        size = "" if self.body is None else f", {len(self.body)} bytes"
        return f"{self.method} {self.path[:100]}: {self.shape}{size}"


class WorstRequests:
    """Makes requests from an OpenAPI document.

    Args:
        known: What stands in a path or a body for a parameter of a name, such as an id that is
            there; all others get the longest that is allowed.
    """

    def __init__(
        self, document: Mapping[str, Any], limits: LimitSettings, known: Mapping[str, str]
    ) -> None:
        self._document = document
        self._limits = limits
        self._known = known

    def of(self, path: str, method: str) -> Iterator[Worst]:
        operation = self._document["paths"][path][method]
        target = self._target(path, operation)
        if "requestBody" not in operation:
            yield Worst(method.upper(), target, "longest parameters")
            return
        is_large = operation.get("x-large-body", False)
        most = self._limits.body_bytes if is_large else self._limits.small_body_bytes
        for kind, media in operation["requestBody"]["content"].items():
            schema = self._resolved(media.get("schema", {}))
            for shape, body in self._bodies(kind, schema, most):
                headers = {"Content-Type": kind.partition(";")[0].replace("*/*", "text/plain")}
                if kind == "multipart/form-data":
                    headers = {"Content-Type": "multipart/form-data; boundary=b"}
                assert len(body) <= most, shape
                yield Worst(method.upper(), target, shape, body, headers)

    # --- parameters

    def _target(self, path: str, operation: Schema) -> str:
        query: dict[str, Any] = {}
        for parameter in operation.get("parameters", ()):
            name = parameter["name"]
            schema = self._resolved(parameter.get("schema", {}))
            longest = self._known.get(name) or _longest_parameter(schema)
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", quote(str(longest)))
            elif parameter["in"] == "query":
                query[name] = longest
        return f"{path}?{urlencode(query)}" if query else path

    # --- bodies

    def _bodies(self, kind: str, schema: Schema, most: int) -> Iterator[tuple[str, bytes]]:
        if kind == "multipart/form-data":
            yield from _forms(most)
        elif kind.endswith("json"):
            yield from self._json_bodies(schema, most)
        else:
            for piece in (b"\r\n-", b"x", b"\0", "中".encode()):
                yield f"bytes {piece!r}", (piece * (most // len(piece) + 1))[:most]

    def _json_bodies(self, schema: Schema, most: int) -> Iterator[tuple[str, bytes]]:
        small = min(most, self._limits.small_body_bytes)
        for shape, value in self._any_values(small):
            yield f"anything: {shape}", _encoded(value)
        for place, value in self._worst(schema, most - _ROOM, depth=_DEPTH):
            yield place, _encoded(value)

    def _worst(self, schema: Schema, most: int, *, depth: int) -> Iterator[tuple[str, Any]]:
        """Make values that the schema allows, as far as it says."""
        schema = self._resolved(schema)
        for variant in schema.get("anyOf") or schema.get("oneOf") or ():
            yield from self._worst(variant, most, depth=depth)
        match schema.get("type"):
            case "string":
                yield from self._worst_texts(schema, most, depth=depth)
            case "array":
                yield from self._worst_lists(schema, most, depth=depth)
            case "object":
                yield from self._worst_objects(schema, most, depth=depth)
            case "number" | "integer":
                yield "vast number", 10**300
            case None if not schema.get("anyOf") and not schema.get("oneOf"):
                yield from self._any_values(min(most, self._limits.small_body_bytes))

    def _worst_texts(self, schema: Schema, most: int, *, depth: int) -> Iterator[tuple[str, Any]]:
        is_file = schema.get("format") in ("byte", "base64", "binary")
        small = self._limits.small_body_bytes
        pieces = ("A",) if is_file else _TEXTS if depth >= _DEPTH - 1 else _FEW
        if most > small and not is_file:
            if depth >= _DEPTH - 1:
                yield "much text", "x" * min(most, schema.get("maxLength", most))
            most, pieces = small - _ROOM, _FEW
        for piece in pieces:
            size = len(json.dumps(piece, ensure_ascii=False).encode()) - 2
            times = min(most // size, schema.get("maxLength", most) // len(piece))
            yield f"text of {piece!r}", piece * times

    def _worst_lists(self, schema: Schema, most: int, *, depth: int) -> Iterator[tuple[str, Any]]:
        item = self._least(schema.get("items", {}))
        size, values = len(_encoded(item)) + 1, _values_in(item)
        number = min(most // size, (self._limits.json_values - _ROOM) // (values + 1))
        yield "list", [item] * number
        if "maxItems" in schema and schema["maxItems"] < number:
            yield "longest list", [item] * schema["maxItems"]
        if depth:
            for place, value in self._worst(schema.get("items", {}), most, depth=depth - 1):
                yield f"[] {place}", [value]

    def _worst_objects(self, schema: Schema, most: int, *, depth: int) -> Iterator[tuple[str, Any]]:
        properties = schema.get("properties", {})
        if not properties:
            yield from (
                (shape, value)
                for shape, value in self._any_values(min(most, self._limits.small_body_bytes))
                if isinstance(value, dict)
            )
            return
        least = self._least(schema)
        for name, inner in properties.items() if depth else ():
            if name in self._known:
                continue
            for place, value in self._worst(inner, most, depth=depth - 1):
                whole = {**least, name: value}
                yield f"{name} {place}", whole

    def _any_values(self, most: int) -> Iterator[tuple[str, Any]]:
        """Shapes of a value of which nothing is said."""
        values, depth = self._limits.json_values - _ROOM, self._limits.json_depth - 4
        number = min(most // 12, values)
        yield "keys", {f"k{n}": n for n in range(number)}
        yield "resumes' keys", {"work": [{"name": "a"}] * (number // 2), "basics": {}}
        yield "objects", {"items": [{"k": [n]} for n in range(number // 3)]}
        for leaf in (1, 2):
            yield f"depth, {leaf} inside", {"work": [_deep(depth - 2, leaf)]}
            yield f"wide depth, {leaf} inside", {"work": [_branched(12, leaf)]}
        yield "text", {"text": "中" * (most // 3 - _ROOM)}
        yield "long key", {"k" * (most - _ROOM): 1}
        yield "numbers", {"items": [10**290] * (most // 300)}

    def _least(self, schema: Schema, *, optional: bool = False) -> Any:
        """Make a small value that the schema allows, with what is known in it."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        for variant in schema.get("anyOf") or schema.get("oneOf") or ():
            return self._least(variant)
        match schema.get("type"):
            case "string":
                return "AAAA"[: schema.get("maxLength", 4)]
            case "integer" | "number":
                return max(1, schema.get("minimum", 1))
            case "boolean":
                return True
            case "array":
                return [self._least(schema.get("items", {}))] * schema.get("minItems", 0)
            case "object":
                required = schema.get("required", ())
                return {
                    name: self._known.get(name) or self._least(inner)
                    for name, inner in schema.get("properties", {}).items()
                    if name in required
                    or name in self._known
                    or self._resolved(inner).get("type") == "boolean"
                }
        return "a"

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema


def _longest_parameter(schema: Schema) -> Any:
    for variant in schema.get("anyOf", ()):
        return _longest_parameter(variant)
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("type") in ("integer", "number"):
        return schema.get("maximum", 10**9)
    if schema.get("format") == "date":
        return "9999-12-31"
    return _ID if schema.get("maxLength", 128) >= 128 else "x" * schema["maxLength"]


def _deep(levels: int, leaf: int) -> Any:
    value: Any = leaf
    for level in range(levels):
        value = [value, level] if level % 2 else {"name": value}
    return value


def _branched(levels: int, leaf: int) -> Any:
    """Make a tree in which each level has two alike."""
    value: Any = leaf
    for _ in range(levels):
        value = [value, value]
    return value


def _values_in(value: Any) -> int:
    inner: Sequence[Any] = ()
    if isinstance(value, dict):
        inner = [*value.values()]
    elif isinstance(value, list):
        inner = value
    return 1 + sum(map(_values_in, inner))


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _forms(most: int) -> Iterator[tuple[str, bytes]]:
    head = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
    end = b"\r\n--b--\r\n"
    file = head % (b"file", b'; filename="a.txt"')
    for piece in (b"x", b"\r\n--", b"\r", b"\r\n--b \r\n-"):
        room = most - len(file) - len(end)
        content = (piece * (room // len(piece) + 1))[:room]
        yield f"form with a file of {piece!r}", file + content + end
    part = head % (b"f", b"") + b"\r\n"
    yield "form of many fields", part * ((most - len(end)) // len(part)) + end
