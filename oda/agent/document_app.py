"""An ADK app whose sessions hold documents."""

from google.adk.apps import App
from pydantic import JsonValue


class DocumentApp(App):
    """An ADK app that declares which keys of its session state are documents.

    `oda chat` shows the changes that each turn makes to the documents.
    """

    documents: tuple[str, ...] = ()
    """Keys of the session state whose values are documents, as JSON."""
    bookkeeping: frozenset[str] = frozenset()
    """Keys of a document whose changes are not shown, such as an edit counter."""

    def to_show(self, document: JsonValue) -> JsonValue:
        """Return a document without its bookkeeping keys."""
        if not isinstance(document, dict):
            return document
        return {key: value for key, value in document.items() if key not in self.bookkeeping}
