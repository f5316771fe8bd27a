"""Recitation by heart, in Chinese and English: comparing, tips, and a library of standard texts.

`compare` tells how well a text was recited, `is_recitation` whether it was recited at all,
`memory_tips` what to practise, `find` which text somebody means. No I/O but the data files here,
no model. Run it as an MCP server with `python -m mcp_tools.recitation`.
"""

from .compare import PASS_SCORE, Evaluation, Mistake, MistakeType, NormalForms, compare
from .errors import EmptyTextError, RecitationError, TextTooLongError, UnknownTextError
from .language import Language
from .library import StandardText, find, texts
from .likeness import is_recitation, similarity
from .tips import MAX_TIPS, memory_tips
from .units import MAX_CHARACTERS, MAX_UNITS, normalize
from .warm_up import warm_up

__all__ = [
    "MAX_CHARACTERS",
    "MAX_TIPS",
    "MAX_UNITS",
    "PASS_SCORE",
    "EmptyTextError",
    "Evaluation",
    "Language",
    "Mistake",
    "MistakeType",
    "NormalForms",
    "RecitationError",
    "StandardText",
    "TextTooLongError",
    "UnknownTextError",
    "compare",
    "find",
    "is_recitation",
    "memory_tips",
    "normalize",
    "similarity",
    "texts",
    "warm_up",
]
