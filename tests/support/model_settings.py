"""Settings, without their `ODA_`, with which a server's agents are answered by a model server."""

from oda.testing import ModelServer


def gemini(model: ModelServer) -> dict[str, str]:
    return {"MODEL": "gemini-stub", "MODEL_API_BASE": model.url}


def openai(model: ModelServer) -> dict[str, str]:
    return {"MODEL": "openai/stub", "MODEL_API_BASE": model.openai_base}


def litellm(model: ModelServer) -> dict[str, str]:
    """The server starts slowest, since importing LiteLLM takes seconds."""
    return {"MODEL": "litellm/openai/stub", "MODEL_API_BASE": model.openai_base}
