"""An ADK app whose sessions hold documents."""

from google.adk.apps import App


class DocumentApp(App):
    """An ADK app that says which of its session state people work on.

    It is used as any `App`. `oda chat` shows what each turn has changed in the documents.
    """

    documents: tuple[str, ...] = ()
    """Keys of the session state; their values are JSON."""
