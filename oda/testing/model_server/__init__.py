"""A model server over real HTTP that speaks OpenAI, Gemini and Anthropic and follows a script."""

from .conversation import Message, RecordedRequest, ToolCall, ToolResult
from .server import ModelServer

__all__ = ["Message", "ModelServer", "RecordedRequest", "ToolCall", "ToolResult"]
