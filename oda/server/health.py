"""Whether the process lives, and whether it can serve."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from oda.server.access import Context
from oda.server.openapi import problems

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"


@router.get("/livez")
async def livez() -> Health:
    """The process answers."""
    return Health()


@router.get("/readyz", responses=problems(503))
@router.get("/health", include_in_schema=False)
async def readyz(oda: Context) -> Health:
    """Warmed up, and the database answers."""
    await oda.services.ping()
    return Health()
