"""Liveness and readiness checks."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from oda.errors import UnavailableError
from oda.server.access import Context
from oda.server.openapi import problems
from oda.workspace.sandbox.sandbox import Report

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"


@router.get("/livez")
async def check_liveness() -> Health:
    """The process answers."""
    return Health()


class Details(Health):
    sandbox: str
    """The sandbox for code, such as `bwrap`; `none` if code is not run; `oda doctor` tells the
    reason.
    """


@router.get("/readyz", responses=problems(503))
async def check_readiness(oda: Context) -> Health:
    """The database takes writes, sessions can be read, and the process is not about to stop."""
    if oda.turns.closing:
        raise UnavailableError("The server is stopping.")
    await oda.check_stores()
    return Health()


@router.get("/health", include_in_schema=False)
async def health(oda: Context) -> Details:
    """As `/readyz`, and what the server can do."""
    await oda.check_stores()
    return Details(sandbox=_sandbox(oda.sandboxes.known))


def _sandbox(report: Report | None) -> str:
    if report is None:
        return "not tested yet"
    return report.sandbox if report.available else "none"
