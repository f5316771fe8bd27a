"""SVG that only draws: shapes, text and gradients, without scripts, links or outside resources."""

import re
from html.entities import html5
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

from .errors import MissingExtraError

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_DEEPEST = 100

_DRAWING = """svg g defs symbol use path rect circle ellipse line polyline polygon text tspan
    textPath title desc linearGradient radialGradient stop clipPath mask pattern marker style image
    filter feBlend feColorMatrix feComposite feDropShadow feFlood feGaussianBlur feMerge
    feMergeNode feOffset"""
_ELEMENTS = frozenset(_DRAWING.split())
_LOOKS = """alignment-baseline baseline-shift class clip-path clip-rule clipPathUnits color cx
    cy d direction display dominant-baseline dx dy fill fill-opacity fill-rule filter
    filterUnits flood-color flood-opacity font-family font-size font-style font-variant
    font-weight fr fx fy gradientTransform gradientUnits height id in in2 k1 k2 k3 k4
    lengthAdjust letter-spacing markerHeight markerUnits markerWidth marker-end marker-mid
    marker-start mask maskContentUnits maskUnits mode offset opacity operator orient overflow
    paint-order pathLength patternContentUnits patternTransform patternUnits points
    preserveAspectRatio primitiveUnits r refX refY result rotate rx ry shape-rendering
    spreadMethod startOffset stdDeviation stop-color stop-opacity stroke stroke-dasharray
    stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity
    stroke-width style text-anchor text-decoration textLength transform type values
    vector-effect viewBox visibility width word-spacing writing-mode x x1 x2 y y1 y2"""
_ATTRIBUTES = frozenset(_LOOKS.split())
_FOREIGN_CSS = re.compile(r"[\\@<]|//|image-set|url\((?!\s*[\"']?#)", re.IGNORECASE)
_OWN_REFERENCE = re.compile(r"#[^\s\"'<>]+")
_OWN_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")
_ROOT = re.compile(r"<svg[\s>/]", re.IGNORECASE)
_PROLOGUE = re.compile(
    r"\A(?:\s|<\?xml[^>]*>|<!--.*?-->|<!doctype[^>\[]*>)*+<svg[\s>/]", re.DOTALL | re.IGNORECASE
)
_NAMED = re.compile(r"&([A-Za-z][A-Za-z0-9]*;)")
_XML_NAMES = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})


def is_svg(data: bytes) -> bool:
    """Return whether the bytes start like an SVG."""
    return _PROLOGUE.match(data[:4096].decode("utf-8", "replace").lstrip("\ufeff")) is not None


def clean_svg(data: bytes) -> bytes | None:
    """Keep what draws; None when it is no SVG that can be read.

    Raises:
        MissingExtraError: defusedxml is not installed.
    """
    try:
        from defusedxml.common import DefusedXmlException
        from defusedxml.ElementTree import fromstring
    except ImportError as error:
        raise MissingExtraError(format="HTML") from error
    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    begin = _ROOT.search(text)
    if begin is None:
        return None
    try:
        root: Element = fromstring(_with_namespaces(text[begin.start() :]))
    except (ParseError, DefusedXmlException, ValueError):
        return None
    clean = _copy(root)
    _give_size(clean)
    clean.attrib = {"xmlns": _SVG, **clean.attrib}
    drawn: bytes = tostring(clean, encoding="utf-8")
    return drawn


def _with_namespaces(text: str) -> str:
    """An SVG out of an HTML page: names of entities and namespaces are understood there."""
    head = text[: text.find(">") + 1]
    missing = [
        f' xmlns{":" if prefix else ""}{prefix}="{uri}"'
        for prefix, uri in (("", _SVG), ("xlink", _XLINK))
        if not re.search(rf"\sxmlns{':' if prefix else ''}{prefix}\s*=", head)
    ]
    return _NAMED.sub(_character, f"<svg{''.join(missing)}{text[len('<svg') :]}")


def _character(name: re.Match[str]) -> str:
    if name[1] in _XML_NAMES or name[1] not in html5:
        return name[0]
    return "".join(f"&#{ord(one)};" for one in html5[name[1]])


def _copy(root: Element) -> Element:
    copy = Element("svg", _attributes(root))
    copy.text = root.text
    _copy_children(root, copy, depth=0)
    return copy


def _copy_children(source: Element, target: Element, depth: int) -> None:
    for child in source:
        name = _local(child.tag, _SVG)
        if name not in _ELEMENTS or depth > _DEEPEST or not _is_own_style(name, child):
            continue
        copy = SubElement(target, name, _attributes(child))
        copy.text, copy.tail = child.text, child.tail
        _copy_children(child, copy, depth + 1)


def _is_own_style(name: str, element: Element) -> bool:
    return name != "style" or not _FOREIGN_CSS.search(element.text or "")


def _attributes(element: Element) -> dict[str, str]:
    kept = {}
    for name, value in element.attrib.items():
        local = _local(name, _XLINK) if name.startswith("{") else name
        if local == "href":
            if _OWN_REFERENCE.fullmatch(value) or _OWN_PICTURE.fullmatch(value):
                kept["href"] = value
        elif local == name and name in _ATTRIBUTES and not _FOREIGN_CSS.search(value):
            kept[name] = value
    return kept


def _local(name: object, namespace: str) -> str:
    """The name within a namespace; nothing for those of others, and for comments."""
    prefix = f"{{{namespace}}}"
    return name.removeprefix(prefix) if isinstance(name, str) and name.startswith(prefix) else ""


def _give_size(svg: Element) -> None:
    """Browsers show an image of SVG without a width as a small box."""
    box = re.split(r"[\s,]+", svg.get("viewBox", "").strip())
    numbers = len(box) == 4 and all(re.fullmatch(r"-?\d+(\.\d+)?", one) for one in box)
    width, height = svg.get("width", ""), svg.get("height", "")
    if numbers and (not width or not height or "%" in width + height):
        svg.set("width", box[2])
        svg.set("height", box[3])
