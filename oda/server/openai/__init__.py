"""The OpenAI face: `/v1/responses` and `/v1/models` over the same sessions and turns."""

from importlib.util import find_spec

from fastapi import APIRouter, Depends

from oda.server.openapi import Bearer

INSTALLED = find_spec("openai") is not None
"""Whether the package is there that the protocol's types come from."""


def router() -> APIRouter:
    """Make the routes of the face; only where it is `INSTALLED`."""
    from oda.server.openai import models, responses

    face = APIRouter(prefix="/v1", dependencies=[Depends(Bearer())])
    face.include_router(models.router)
    face.include_router(responses.router)
    return face
