"""Quotations: whether words stand in a text, whatever its marks and blanks are."""

import re
import unicodedata

_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_MARKS = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-"}
)
_OTHER = re.compile(r"[^\w.%+-]+")
_GAP = re.compile(r"\s{0,3}(?:…|\.{3}|\[…\])\s{0,3}")
_SHORTEST = 4


def plain(text: str) -> str:
    """Return the words of a text with single blanks, in one case and width."""
    one_form = unicodedata.normalize("NFKC", _LINK.sub(r"\1", text)).translate(_MARKS)
    return _OTHER.sub(" ", one_form.casefold().replace(",", "")).replace(". ", " ").strip(" .")


def stands_in(quotation: str, plain_text: str) -> bool:
    """Return whether a quotation stands in a text that is `plain`; `…` leaves something out."""
    at = 0
    parts = [plain(part) for part in _GAP.split(quotation)]
    if not any(len(part) >= _SHORTEST for part in parts):
        return False
    for part in filter(None, parts):
        found = plain_text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
