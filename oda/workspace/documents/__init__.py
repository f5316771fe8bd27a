"""Documents of a workspace as Markdown."""

from oda.workspace.documents.plain_text import read_plain_text
from oda.workspace.documents.program_answer import answer_of
from oda.workspace.documents.read_document import DOCUMENT_SUFFIXES, read_document

__all__ = ["DOCUMENT_SUFFIXES", "answer_of", "read_document", "read_plain_text"]
