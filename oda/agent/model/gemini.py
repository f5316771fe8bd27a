"""ADK's Gemini, over the connections that all models of an event loop share."""

from google.adk.models.google_llm import Gemini
from google.genai import Client

from oda.agent.model.http_model import http_client


class SharedGemini(Gemini):
    """Gemini without connections of its own, which nobody would close.

    Needs `http_options` among its `client_kwargs`.
    """

    @property
    def api_client(self) -> Client:
        # ADK makes one client for each event loop and copies the options into it.
        (self.client_kwargs or {})["http_options"].aiohttp_client = http_client(trust_env=True)
        return super().api_client
