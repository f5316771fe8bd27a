"""The API of our own: apps, sessions, turns."""

from fastapi import APIRouter, Depends

from oda.server.openapi import Bearer, problems
from oda.server.v1 import apps, artifacts, sessions, turns, websocket

router = APIRouter(
    prefix="/v1",
    dependencies=[Depends(Bearer())],
    responses=problems(401, 422, 503),
)
router.include_router(apps.router)
router.include_router(sessions.router)
router.include_router(artifacts.router)
router.include_router(turns.router)
router.include_router(websocket.router)
