"""The API of our own: apps, sessions, turns."""

from fastapi import APIRouter

from oda.server.problems import MEDIA_TYPE, Problem
from oda.server.v1 import apps, sessions, turns


def _problem(description: str) -> dict[str, object]:
    return {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


router = APIRouter(
    prefix="/v1",
    responses={
        400: _problem("Malformed"),
        403: _problem("Not from this machine"),
        404: _problem("Not there, or not yours"),
        409: _problem("Not possible now"),
        415: _problem("Not JSON"),
        422: {**_problem("Wrong fields"), "model": Problem},
        429: _problem("Too much at once"),
        503: _problem("A part cannot be reached"),
    },
)
router.include_router(apps.router)
router.include_router(sessions.router)
router.include_router(turns.router)
