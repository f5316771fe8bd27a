"""The door for AG-UI clients. The protocol's package is imported with the first request."""

import asyncio
from importlib.util import find_spec
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import StreamingResponse

from oda.server.access import Context, User
from oda.server.audit import audit_answers
from oda.server.openapi import LARGE_BODY, Bearer
from oda.server.problems import Refusal
from oda.server.sse import SENT_AS

AppName = Annotated[str, Path(max_length=128)]

router = APIRouter(
    prefix="/agui", dependencies=[Depends(Bearer())], include_in_schema=False, tags=["agui"]
)

_QUICK = 1 << 16
"""Length of a body below which parsing takes at most some milliseconds."""


def is_installed() -> bool:
    """Return whether the protocol's package is there (`oda[agui]`)."""
    return find_spec("ag_ui") is not None


@router.post("/{app}", openapi_extra=LARGE_BODY)
async def run_agent(app: AppName, oda: Context, user: User, request: Request) -> Response:
    """Run an agent: submit what is new, and stream what happens. A run that has begun is joined."""
    if not _is_json(request.headers.get("content-type", "")):
        raise Refusal(415, "Send the body as application/json.")
    await asyncio.to_thread(_import)
    from oda.server.agui.request import parse_input
    from oda.server.agui.run import begin_run
    from oda.server.agui.stream import sent

    body = await request.body()
    is_long = len(body) > _QUICK
    given = await asyncio.to_thread(parse_input, body) if is_long else parse_input(body)
    run = await begin_run(oda, app, user, given)
    if run.answers:
        audit_answers(request.scope, [(one, confirmed) for one, confirmed, _ in run.answers])
    headers = {**SENT_AS, "Location": f"/v1/turns/{run.turn.turn_id}"}
    if run.replayed:
        headers["Idempotent-Replayed"] = "true"
    return StreamingResponse(sent(oda, run), media_type="text/event-stream", headers=headers)


@router.get("/{app}/capabilities")
async def get_capabilities(app: AppName, oda: Context, user: User) -> Response:
    """Describe what an app can do."""
    await asyncio.to_thread(_import)
    from oda.server.agui.capabilities import capabilities_of

    definition = await oda.definitions.load(app)
    told = capabilities_of(definition).model_dump_json(by_alias=True)
    return Response(told, media_type="application/json")


def _import() -> None:
    from oda.server.agui import capabilities, stream  # noqa: F401 - what they import takes long


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower().endswith(("/json", "+json"))
