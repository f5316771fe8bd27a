"""In which language a text is written, as far as its characters tell."""

import re

_DECLARED = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")


def language_of(text: str, declared: str | None = None) -> str:
    """The BCP 47 tag of a text. What was `declared` counts unless the characters contradict it."""
    tag = declared if declared and _DECLARED.fullmatch(declared) else None
    primary = tag.split("-")[0].lower() if tag else None
    written = _by_script(text)
    if tag and (primary == written or (written is None and primary not in ("zh", "ja", "ko"))):
        return tag
    return written or "en"


def _by_script(text: str) -> str | None:
    """zh, ja or ko; None for all that is written in letters."""
    han, kana, hangul = (len(one.findall(text)) for one in (_HAN, _KANA, _HANGUL))
    if han + kana + hangul <= len(_WORD.findall(text)):
        return None
    if hangul > han + kana:
        return "ko"
    return "ja" if kana * 5 > han else "zh"
