"""An ADK app whose sessions hold documents."""

from google.adk.apps import App
from pydantic import JsonValue


class DocumentApp(App):
    """An ADK app that says which of its session state people work on.

    It is used as any `App`. `oda chat` shows what each turn has changed in the documents.
    """

    documents: tuple[str, ...] = ()
    """Keys of the session state; their values are JSON."""
    bookkeeping: frozenset[str] = frozenset()
    """Keys of a document whose changes nobody needs to see, such as a count of edits."""

    def to_show(self, document: JsonValue) -> JsonValue:
        """A document without its bookkeeping."""
        if not isinstance(document, dict):
            return document
        return {key: value for key, value in document.items() if key not in self.bookkeeping}
