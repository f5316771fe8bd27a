"""A resume as Markdown (CommonMark); what a resume says is never read as markup."""

import re
from collections.abc import Iterator

from .links import Link
from .page import Contact, Item, Page, Part

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&$#]")
_LINE_START = re.compile(r"^(?:[-+=:]|\d+(?=[.)]))")


def to_markdown(page: Page) -> bytes:
    """Write a page as CommonMark in UTF-8."""
    blocks = [f"# {_inline(page.heading)}"]
    if page.label:
        blocks.append(f"**{_inline(page.label)}**")
    if page.contacts:
        blocks.append("\n".join(_contact(contact, page) for contact in page.contacts))
    if page.summary:
        blocks += [f"## {page.about}", *map(_block, page.summary)]
    for part in page.parts:
        blocks += _part(part, page)
    return ("\n\n".join(blocks) + "\n").encode()


def _contact(contact: Contact, page: Page) -> str:
    return f"- {_block(contact.label)}{page.colon}{_link(contact.link)}"


def _part(part: Part, page: Page) -> Iterator[str]:
    yield f"## {part.heading}"
    if part.layout == "compact":
        yield "\n".join(_line(item, page) for item in part.items)
        return
    for item in part.items:
        yield from _entry(item, page)


def _line(item: Item, page: Page) -> str:
    tags = page.comma.join(item.tags)
    if not item.title:
        return f"- {_block(tags)}"
    level = f" ({_inline(item.subtitle)})" if item.subtitle else ""
    return f"- **{_inline(item.title)}**{level}" + (page.colon + _inline(tags) if tags else "")


def _entry(item: Item, page: Page) -> Iterator[str]:
    if title := " · ".join(_inline(text) for text in (item.title, item.subtitle) if text):
        yield f"### {title}"
    if when := " · ".join(_inline(text) for text in (item.period, item.place) if text):
        yield f"*{when}*"
    yield from map(_block, item.paragraphs)
    if item.bullets:
        yield "\n".join(f"- {_block(bullet)}" for bullet in item.bullets)
    for fact in item.facts:
        yield _block(fact.label) + page.colon + _inline(fact.text)
    if item.link:
        yield _link(item.link)


def _link(link: Link) -> str:
    return f"[{_inline(link.text)}](<{link.url}>)" if link.url else _block(link.text)


def _block(text: str) -> str:
    """Escape text at the start of a line, where lists, rules and headings begin."""
    escaped = _inline(text)
    start = _LINE_START.match(escaped)
    if start is None:
        return escaped
    end = start.end()
    return f"{escaped[:end]}\\{escaped[end:]}" if start[0].isdigit() else f"\\{escaped}"


def _inline(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)
