"""Recognition of headings by their words. Has no imports: it also runs in isolated readers."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .lines import display_width

DECORATION = " \t:：|｜·•-–—_=*~#【】[]《》<>「」■◆●▌►▶※/\\"

_NUMBERING = re.compile(
    r"^(?:[一二三四五六七八九十]{1,2}[、.．]|第[一二三四五六七八九十][、部分]+|\d{1,2}[.、．)]|[IVX]{1,4}\.)\s*"
)
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]")
_LATIN = re.compile(r"[a-z][a-z &/'-]*")
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_PARTS = re.compile(r"\s*(?:[/&、，,+|]|\band\b|与|及|和)\s*")
_WIDEST = 44


@dataclass(frozen=True)
class Headings:
    """The words of headings, in lower case."""

    sections: Mapping[str, str]
    """Section by the words of its heading."""
    modifiers: Collection[str]
    """Words that may precede or follow the words of a heading."""

    def section_of(self, text: str) -> str | None:
        """Return the section whose heading a text is, or None if it is not a heading."""
        if not text or display_width(text) > _WIDEST:
            return None
        bare = _ASIDE.sub("", _NUMBERING.sub("", text.strip())).strip(DECORATION).lower()
        if found := self._known(bare):
            return found
        chinese, latin = "".join(_CHINESE.findall(bare)), _LATIN.search(bare)
        if chinese and latin and self._known(chinese) and self._known(latin[0].strip(DECORATION)):
            return self._known(chinese)
        sections = [self._known(part) for part in _PARTS.split(bare) if part]
        parts_left = [part for part in sections if part]
        return parts_left[0] if len(sections) > 1 and len(parts_left) == len(sections) else None

    def _known(self, text: str) -> str | None:
        text = re.sub(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])", "", text).strip(DECORATION)
        if re.fullmatch(r"(?:\w ){3,}\w", text):
            text = text.replace(" ", "")
        if text in self.sections:
            return self.sections[text]
        for modifier in self.modifiers:
            for rest in (text.removeprefix(modifier), text.removesuffix(modifier)):
                if rest != text and rest.strip() in self.sections:
                    return self.sections[rest.strip()]
        return None
