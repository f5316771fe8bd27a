"""ADK's Gemini over the HTTP connections shared by all models of an event loop."""

from google.adk.models.google_llm import Gemini
from google.genai import Client

from oda.agent.model.http_model import http_client


class SharedGemini(Gemini):
    """Gemini without connections of its own, which would never be closed.

    Requires `http_options` in its `client_kwargs`.
    """

    @property
    def api_client(self) -> Client:
        # ADK creates one client per event loop and copies the options into it.
        (self.client_kwargs or {})["http_options"].aiohttp_client = http_client(trust_env=True)
        return super().api_client
