"""Evidence: which passage of a page that was read says what an article says."""

from .pages import Page
from .proof import Claim, Contradiction, Proof, prove
from .quotations import stands_in
from .statements import Statement, statements_of

__all__ = [
    "Claim",
    "Contradiction",
    "Page",
    "Proof",
    "Statement",
    "prove",
    "stands_in",
    "statements_of",
]
