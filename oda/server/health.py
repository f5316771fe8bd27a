"""Whether the process lives, and whether it can serve."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from oda.server.access import Context
from oda.server.openapi import problems
from oda.workspace.sandbox.sandbox import Report

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"


@router.get("/livez")
async def livez() -> Health:
    """The process answers."""
    return Health()


class Details(Health):
    sandbox: str
    """Where code runs, such as `bwrap`; `none` where it is not run; `oda doctor` says why."""


@router.get("/readyz", responses=problems(503))
async def readyz(oda: Context) -> Health:
    """Warmed up, and the database answers."""
    await oda.services.ping()
    return Health()


@router.get("/health", include_in_schema=False)
async def health(oda: Context) -> Details:
    """As `/readyz`, and what the server can do."""
    await oda.services.ping()
    return Details(sandbox=_sandbox(oda.sandboxes.known))


def _sandbox(report: Report | None) -> str:
    if report is None:
        return "not tested yet"
    return report.sandbox if report.available else "none"
