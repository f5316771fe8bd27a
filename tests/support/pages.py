"""What a published page may not have, read by another parser than the one that made it."""

from base64 import b64decode
from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

_ACTIVE = """applet audio base button canvas embed form frame frameset iframe input link math
    noscript object option select source svg template textarea track video"""
OURS = [*["meta"] * 6, "title", "style"]
"""In the head, in this order."""
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def faults(html: str) -> list[str]:
    """All that runs, or loads something, in a page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    head = [tag for tag, _ in reader.tags if tag in ("meta", "title", "style", "script")]
    found = [] if head == OURS else [f"in the head: {head}"]
    for tag, attributes in reader.tags:
        found += [f"<{tag}>"] if tag in _ACTIVE.split() else []
        found += [f for name, value in attributes.items() for f in _faults_of(tag, name, value)]
    return found


def svg_faults(svg: str | bytes) -> list[str]:
    """All that runs, or loads something, in a drawing."""
    root: Element = fromstring(svg)
    found = []
    for element in root.iter():
        name = str(element.tag).rpartition("}")[2].lower()
        if name in ("script", "foreignobject", "iframe", "a", "animate", "set", "handler"):
            found.append(f"<{name}> in a drawing")
        texts = [element.text or ""] if name == "style" else []
        for key, value in element.attrib.items():
            local = key.rpartition("}")[2].lower()
            if local.startswith("on"):
                found.append(f"{local} in a drawing")
            if local == "href" and not value.startswith(("#", "data:image/")):
                found.append(f"href {value!r} in a drawing")
            texts.append("" if local in ("href", "aria-label") else value)
        found += [f"{text!r} in a drawing" for text in texts if _loads(text)]
    return found


def _loads(css: str) -> bool:
    folded = css.lower()
    return any(word in folded for word in ("@import", "http:", "https:", "javascript:", "url(/"))


def _faults_of(tag: str, name: str, value: str) -> Iterator[str]:
    if name.startswith("on") or name in ("srcset", "srcdoc", "ping", "background", "formaction"):
        yield f"{tag}.{name}"
    if name == "src" and not value.startswith("data:image/"):
        yield f"{tag}.src {value!r}"
    if name == "src" and value.startswith("data:image/svg+xml;base64,"):
        yield from svg_faults(b64decode(value.partition(",")[2]))
    if name == "href" and (tag != "a" or not _may_be_followed(value)):
        yield f"{tag}.href {value!r}"
    if name == "style" and ("(" in value or "\\" in value or "position" in value):
        yield f"style {value!r}"
    if name == "http-equiv" and value != "Content-Security-Policy":
        yield f"http-equiv {value!r}"


def _may_be_followed(address: str) -> bool:
    return address.startswith(("#", "http://", "https://", "mailto:", "files/"))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
