"""One spelling for what homework is written in: widths, signs, LaTeX, words."""

import re
import unicodedata

from .numerals import in_digits
from .vocabulary import Goal, vocabulary

BLANK = "□"
REMAINDER = "…"
RELATIONS = "=<>≥≤≠"

_SUPERSCRIPTS = {**dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)), "⁻": "-"}
_SUPERSCRIPT = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("×✕✖⨯∙·•⋅∗", "*"),
        **dict.fromkeys("−–﹣‒—➖", "-"),
        **dict.fromkeys("＋➕", "+"),
        **dict.fromkeys("➗", "÷"),
        **dict.fromkeys("≧⩾", "≥"),
        **dict.fromkeys("≦⩽", "≤"),
        **dict.fromkeys("【[{", "("),
        **dict.fromkeys("】]}", ")"),
        **dict.fromkeys("☐◻▢⬜口△☆○◯⭕", BLANK),
        **dict.fromkeys("∶", ":"),
        **dict.fromkeys("。", "."),
    }
)
_REWRITES = [
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"\.{3,}|⋯+|…+", REMAINDER),
        (r">=|=>", "≥"),
        (r"<=|=<", "≤"),
        (r"!=|<>|/=", "≠"),
        (r"={2,}", "="),
        (r"\*{2}", "^"),
        (r"_{2,}|\(\s*(?:_+|\?|□)?\s*\)", BLANK),
        (r"(?<=[=<>≥≤≠+\-*÷/(])\s*\?", BLANK),
        (r"^\s*\?(?=\s*[=<>≥≤≠+\-*÷/])", BLANK),
        (r"(?<=\d)\s*[rR]\.?\s*(?=\d)", REMAINDER),
        (r"(?<=[\d)])\s*[xX]\s*(?=\d)", "*"),
        (r"(?<=[\d)])\s+[xX]\s+(?=\()", "*"),
    )
]
_LATEX = [
    (re.compile(pattern), sign)
    for pattern, sign in (
        (r"\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}", r" \1/\2"),
        (r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"((\1)/(\2))"),
        (r"\\sqrt\s*\{([^{}]*)\}", r"√(\1)"),
        (r"\\(?:times|cdot)\b", "×"),
        (r"\\div\b", "÷"),
        (r"\\pm\b", "±"),
        (r"\\(?:le|leq)\b", "≤"),
        (r"\\(?:ge|geq)\b", "≥"),
        (r"\\(?:left|right)|\\[,;!() \[\]]|\$", ""),
        (r"\^\{([^{}]*)\}", r"^(\1)"),
    )
]
_MAX_LATEX_DEPTH = 4

_NUMBER = r"\d+(?:\.\d+)?(?:/\d+)?%?"
_NAMED_RESULTS = {
    **dict.fromkeys(("和", "sum"), "+"),
    **dict.fromkeys(("差", "difference"), "-"),
    **dict.fromkeys(("积", "product"), "*"),
    **dict.fromkeys(("商", "quotient"), "÷"),
}
_CHINESE_RESULT = re.compile(rf"({_NUMBER})\s*[和与]\s*({_NUMBER})\s*的\s*([和差积商])")
_ENGLISH_RESULT = re.compile(
    rf"\b(sum|difference|product|quotient)\s+(?:of|between)\s+({_NUMBER})\s+and\s+({_NUMBER})",
    re.IGNORECASE,
)
_PART_OF = re.compile(r"(?<=[\d%)])\s*(?:的|of)\s*(?=[\d(□])")
_FOLD = re.compile(r"(?<=\d)倍")
_DECIMAL_PLACES = re.compile(
    r"[,，;；(]?\s*(?:得数|结果)?(?:保留|(?:round(?:ed)?\s+)?(?:correct\s+)?to)\s*(?P<places>\d)\s*"
    r"(?:位小数|decimal\s+places?|d\.?p\.?)\)?",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"[,，;；(]?\s*(?:得数|结果)?(?:保留整数|(?:round(?:ed)?\s+)?to\s+the\s+nearest\s+whole\s+number)(?P<places>)\)?",
    re.IGNORECASE,
)
_ROUND = re.compile(r"\bround(?:ed)?\b|四舍五入", re.IGNORECASE)
_ASKED_FOR = re.compile(
    r"\b(?:solve\s+for|find)\s+[a-z]\b\s*:?|求\s*[a-z](?![a-z])\s*:?", re.IGNORECASE
)
_EDGES = " \t\r\n,.:;，。：；、"


def plain(text: str) -> str:
    """Write widths, signs and LaTeX in one way; words stay as they are."""
    text = _without_latex(text)
    text = _SUPERSCRIPT.sub(_power, text)
    text = _VULGAR.sub(lambda match: f" {unicodedata.normalize('NFKC', match[0])}", text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).replace("⁄", "/").translate(_SIGNS)
    for pattern, sign in _REWRITES:
        text = pattern.sub(sign, text)
    return text


def in_signs(text: str) -> str:
    """Write plain text whose words stand for numbers and signs in digits and signs."""
    text = in_digits(text)
    text = _CHINESE_RESULT.sub(lambda match: _named(match[3], match[1], match[2]), text)
    text = _ENGLISH_RESULT.sub(lambda match: _named(match[1].lower(), match[2], match[3]), text)
    text = _FOLD.sub("", _PART_OF.sub("*", text))
    words = vocabulary()
    text = words.sign_words.sub(lambda match: words.sign_of[_spaced(match[0])], text)
    text = re.sub(r"(?<=[=+\-*÷])\s*\?|^\s*\?(?=\s*[=+\-*÷])", BLANK, text)
    return text.rstrip("? ").strip(_EDGES)


def without_goal(text: str) -> tuple[str, Goal | None]:
    """Take out the words that say what is to be done, and those that say nothing."""
    words = vocabulary()
    if (asked := _ASKED_FOR.sub(" ", text)) != text:
        return asked.strip(_EDGES), "solve"
    found = words.goal_words.search(text)
    goal = words.goal_of[_spaced(found[0])] if found else None
    bare = words.noise_words.sub(" ", words.goal_words.sub(" ", text))
    return bare.strip(_EDGES), goal


def without_rounding(text: str) -> tuple[str, int | None]:
    """Take out how many decimal places the result is to have; 0 means a whole number."""
    text = in_digits(text)
    for pattern in (_DECIMAL_PLACES, _WHOLE):
        if found := pattern.search(text):
            rest = text[: found.start()] + text[found.end() :]
            return _ROUND.sub("", rest), int(found["places"] or 0)
    return text, None


def _without_latex(text: str) -> str:
    if "\\" not in text and "$" not in text and "^{" not in text:
        return text
    for _ in range(_MAX_LATEX_DEPTH):
        for pattern, sign in _LATEX:
            text = pattern.sub(sign, text)
    return text


def _power(match: re.Match[str]) -> str:
    exponent = "".join(_SUPERSCRIPTS[sign] for sign in match[0])
    return f"^{exponent}" if len(exponent) == 1 else f"^({exponent})"


def _named(name: str, left: str, right: str) -> str:
    return f"(({left}){_NAMED_RESULTS[name]}({right}))"


def _spaced(words: str) -> str:
    return re.sub(r"\s+", " ", words.lower())
