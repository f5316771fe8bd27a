"""Settings, without their `ODA_`, with which a server's agents are answered by a model server."""

from oda.testing import ModelServer


def gemini(model: ModelServer) -> dict[str, str]:
    """The server starts quickest: LiteLLM, which takes seconds to import, is not needed."""
    return {"MODEL": "gemini-stub", "MODEL_API_BASE": model.url}


def litellm(model: ModelServer) -> dict[str, str]:
    return {"MODEL": "openai/stub", "MODEL_API_BASE": model.openai_base}
