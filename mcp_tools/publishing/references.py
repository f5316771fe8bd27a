"""References of an article: images are embedded, links are kept if they can be followed."""

from collections.abc import Collection
from urllib.parse import quote

from .allowed import FILES, safe_link
from .images import Images, LeftOut, Resolve, names_of
from .tree import Element
from .typesetting import one_line, shortened

_NOTES = {
    LeftOut.MISSING: ("Image not found: {name}", "找不到图片：{name}"),
    LeftOut.UNREADABLE: ("This image cannot be shown: {name}", "无法显示的图片：{name}"),
    LeftOut.TOO_LARGE: ("This image is too large: {name}", "图片太大：{name}"),
}
"""In English and in Chinese."""


class References:
    """Settles all that an author's HTML refers to.

    Args:
        resolve: Gives the images.
        files: Names of the files beside the article, the only ones that can be linked.
        language: Of the notes in place of images.
    """

    def __init__(self, resolve: Resolve, files: Collection[str], language: str) -> None:
        self._images = Images(resolve)
        self._files = files
        self._note = 1 if language.startswith("zh") else 0

    def settle(self, root: Element) -> None:
        """Put images into the page, and leave only links that can be followed."""
        root.replace(self._settled)

    def _settled(self, element: Element) -> Element | str | None:
        match element.tag:
            case "img":
                return self._image(element)
            case "a":
                return self._link(element)
            case "table":
                return Element("div", {"class": "table"}, [element])
            case "figure" | "p" | "picture" if not element.children:
                return None
        return element

    def _image(self, image: Element) -> Element | str | None:
        source = image.attributes.get("src", "")
        alt = one_line(image.attributes.get("alt", ""))
        inlined = self._images.inline(source)
        if isinstance(inlined, str):
            image.attributes |= {"src": inlined, "alt": alt}
            return image
        if inlined is LeftOut.REMOTE or source.startswith("data:"):
            return Element("span", {"class": "note"}, [alt]) if alt else None
        name = next(iter(names_of(source)), source)
        note = _NOTES[inlined][self._note].format(name=shortened(one_line(name), 80))
        return Element("span", {"class": "note"}, [f"[{note}]{alt and ' '}{alt}"])

    def _link(self, link: Element) -> Element:
        """A link that can be followed, or its text."""
        address = link.attributes.pop("href", "")
        link.attributes.pop("target", None)
        target = safe_link(address) or self._file_link(address)
        if target is None:
            return Element("span", link.attributes, link.children)
        link.attributes["href"] = target
        if target.startswith("http"):
            link.attributes["target"] = "_blank"
        return link

    def _file_link(self, address: str) -> str | None:
        name = next((one for one in names_of(address) if one in self._files), None)
        return FILES + quote(name) if name else None
