"""On a loopback address there is no password, so other web pages must be kept out."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from oda.server.problems import problem_response


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class LoopbackGuard:
    """Refuses requests for another host (DNS rebinding) and from pages of another origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            origin = request.headers.get("origin")
            if not _is_ours(request.headers.get("host", "")) or (
                origin is not None and not _is_ours(urlsplit(origin).netloc)
            ):
                refusal = problem_response(
                    request, 403, "This server answers only to pages and hosts of this machine."
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_ours(netloc: str) -> bool:
    return is_loopback(urlsplit(f"//{netloc}").hostname or "")
