"""The two bindings of A2A, as `a2a-sdk` serves them."""

from urllib.parse import quote

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.server.routes.rest_dispatcher import RestDispatcher
from a2a.utils.constants import PROTOCOL_VERSION_1_0, VERSION_HEADER
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from oda.context import OdaContext
from oda.errors import UnauthenticatedError
from oda.identity.authenticator import Authenticator
from oda.server.a2a.calls import Call
from oda.server.a2a.cards import card_of
from oda.server.a2a.handler import CALL, TurnHandler
from oda.server.a2a.refusals import as_http, as_rpc
from oda.server.request_path import mount_path
from oda.server.v1.wire import etag


class _Calls(ServerCallContextBuilder):
    """Hands the `Call` on; a client that names no version speaks the only one there is."""

    def build(self, request: Request) -> ServerCallContext:
        headers = {VERSION_HEADER.lower(): PROTOCOL_VERSION_1_0, **request.headers}
        return ServerCallContext(state={"headers": headers, CALL: request.scope[CALL]})


class A2aFace:
    """A2A's operations for any app."""

    def __init__(self) -> None:
        handler = TurnHandler()
        self._rpc = JsonRpcDispatcher(handler, context_builder=_Calls())
        self._rest = RestDispatcher(handler, context_builder=_Calls())

    async def rpc(self, request: Request, oda: OdaContext, app: str, user_id: str) -> Response:
        """Answer a request of JSON-RPC."""
        await self._called(request, oda, app, user_id)
        return as_rpc(request, await self._rpc.handle_requests(request))

    async def rest(
        self, request: Request, oda: OdaContext, app: str, user_id: str, operation: str
    ) -> Response:
        """Answer a request of HTTP+JSON.

        Args:
            operation: The method of the SDK's dispatcher.
        """
        await self._called(request, oda, app, user_id)
        return as_http(request, await getattr(self._rest, operation)(request))

    async def card(self, request: Request, oda: OdaContext, app: str) -> Response:
        """Answer with the public card of an app."""
        is_open = await _is_open(request)
        card = agent_card_to_dict(await card_of(oda, app, url_of(request, app), is_open=is_open))
        headers = {"ETag": etag(card), "Cache-Control": "no-cache", "Vary": "Host"}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return JSONResponse(card, headers=headers)

    async def _called(self, request: Request, oda: OdaContext, app: str, user_id: str) -> None:
        await oda.definitions.load(app)
        is_open = await _is_open(request)
        request.scope[CALL] = Call(oda, app, user_id, request, url_of(request, app), is_open)


def url_of(request: Request, app: str) -> str:
    """Return where an app is served, as the client calls this server."""
    here = f"{request.url.scheme}://{request.url.netloc}{quote(mount_path(request.scope))}"
    return f"{here}/a2a/{quote(app, safe='')}"


async def _is_open(request: Request) -> bool:
    authenticator: Authenticator = request.app.state.authenticator
    try:
        await authenticator.authenticate(None, None)
    except UnauthenticatedError:
        return False
    return True
