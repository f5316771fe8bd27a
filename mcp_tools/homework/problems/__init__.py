"""The kinds of problems that code can check, each with its answer, its judge and its way."""

from .blanks import Blanks
from .calculation import Calculation
from .comparison import Comparison, Statement
from .conversion import Conversion
from .equation import Equation
from .problem import Judged, Problem
from .rewriting import Rewriting
from .system import System

__all__ = [
    "Blanks",
    "Calculation",
    "Comparison",
    "Conversion",
    "Equation",
    "Judged",
    "Problem",
    "Rewriting",
    "Statement",
    "System",
]
