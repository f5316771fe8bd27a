"""All routes of an orchestrator, for the `routes.py` of the agent that has it.

from oda.server import orchestrator_routes
from .agent import root_agent

def routes():
    return orchestrator_routes(root_agent)
"""

from fastapi import APIRouter
from fastapi.routing import APIRoute

from oda.clock import Clock, SystemClock
from oda.orchestration.orchestrator import Orchestrator
from oda.server.orchestrator.process import process_router
from oda.server.orchestrator.steps import steps_router
from oda.server.orchestrator.websocket import socket_router
from oda.turn.follow import HEARTBEAT_S

_TALK = "/api/orchestrator"


def orchestrator_routes(
    orchestrator: Orchestrator,
    *,
    name: str | None = None,
    is_default: bool = True,
    ping_every_s: float = HEARTBEAT_S,
    clock: Clock | None = None,
) -> APIRouter:
    """`/api/orchestrator/<name>/process` and `…/ws`, and `/api/agents/<name>/<step>`.

    Args:
        name: In the paths; by default the orchestrator's own.
        is_default: Whether its messages also come without the name, to `/api/orchestrator/process`
            and `/api/orchestrator/ws`. Of several orchestrators that are served together only one
            may be.
        ping_every_s: How often a WebSocket is pinged.
    """
    name, clock = name or orchestrator.name, clock or SystemClock()
    messages, steps = process_router(orchestrator, clock), steps_router(orchestrator, clock)
    messages.include_router(socket_router(orchestrator, clock, ping_every_s=ping_every_s))
    router = APIRouter(tags=[name])

    def message_id(route: APIRoute) -> str:
        by_name = "_by_name" if is_default else ""
        return f"{route.name}_to_{name}{by_name}"

    def step_id(route: APIRoute) -> str:
        return f"{name}_{route.name}"

    if is_default:
        router.include_router(
            messages,
            prefix=_TALK,
            generate_unique_id_function=lambda route: f"{route.name}_to_{name}",
        )
    router.include_router(
        messages, prefix=f"{_TALK}/{name}", generate_unique_id_function=message_id
    )
    router.include_router(steps, prefix=f"/api/agents/{name}", generate_unique_id_function=step_id)
    return router
