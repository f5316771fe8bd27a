"""The API of our own: apps, sessions, turns."""

from fastapi import APIRouter, Depends
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from oda.server.openapi import problems
from oda.server.v1 import apps, artifacts, sessions, turns, websocket


class _Bearer(SecurityBase):
    """Describes the credential in OpenAPI; `AuthMiddleware` has checked it."""

    model = HTTPBearer(description="An API key or a JWT; not needed where no key is configured.")
    scheme_name = "bearer"

    async def __call__(self) -> None:
        """Nothing is left to do."""


router = APIRouter(
    prefix="/v1",
    dependencies=[Depends(_Bearer())],
    responses=problems(401, 422, 503),
)
router.include_router(apps.router)
router.include_router(sessions.router)
router.include_router(artifacts.router)
router.include_router(turns.router)
router.include_router(websocket.router)
