"""Everything that a request passes before it is served, from outside to inside."""

from fastapi.middleware.cors import CORSMiddleware
from starlette.middleware import Middleware
from starlette.types import Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from oda.identity.principal import current_principal
from oda.server.adk.door import AdkDoor
from oda.server.agent_routes import AgentRoutes
from oda.server.audit import AuditMiddleware
from oda.server.auth import AuthMiddleware
from oda.server.body_limits import BodyLimits, HeaderLimit
from oda.server.guard import Guard
from oda.server.metrics import Metrics, MetricsMiddleware
from oda.server.mount import Mount
from oda.server.openai.errors import OpenAIErrors
from oda.server.problems import UnexpectedErrors
from oda.server.rate_limits import RateLimit
from oda.server.rate_window import RateStore, RateWindow
from oda.server.security_headers import SecurityHeaders
from oda.server.trace import TraceMiddleware
from oda.settings import Settings

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_ACCEPTED = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match"),
    *("Last-Event-ID", "Prefer", "Traceparent", "X-Oda-User"),
)
_EXPOSED = (
    *("Location", "ETag", "Retry-After", "X-Trace-Id"),
    *("Idempotent-Replayed", "Preference-Applied"),
)


def perimeter(
    settings: Settings, *, host: str, metrics: Metrics, rates: RateStore
) -> list[Middleware]:
    """Return the middleware of the application, outermost first.

    Args:
        host: The address that the server is bound to.
    """
    limits = settings.limits
    origins = settings.allowed_origins
    failures = RateWindow("failed logins", limits.failed_logins_per_minute, rates)
    requests = RateWindow("requests", limits.requests_per_minute, rates)
    proxies = list(settings.trusted_proxies)
    return [
        *([Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)] if proxies else []),
        Middleware(TraceMiddleware),
        Middleware(MetricsMiddleware, requests=metrics.requests),
        Middleware(SecurityHeaders),
        Middleware(OpenAIErrors),
        Middleware(Mount),
        Middleware(HeaderLimit, most=limits.header_bytes),
        Middleware(Guard, host=host, hosts=settings.allowed_hosts, origins=origins),
        *([_cors(origins)] if origins else []),
        Middleware(AuthMiddleware, failures=failures, to_everybody=settings.insecure),
        Middleware(RateLimit, window=requests, key=_user),
        Middleware(AgentRoutes),
        Middleware(AuditMiddleware),
        Middleware(BodyLimits, limits=limits),
        Middleware(UnexpectedErrors),
        Middleware(AdkDoor),
    ]


def _cors(origins: tuple[str, ...]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=_METHODS,
        allow_headers=_ACCEPTED,
        expose_headers=_EXPOSED,
        allow_credentials=False,
    )


def _user(scope: Scope) -> str | None:
    """Return the user whose requests are counted; None on an open server."""
    principal = current_principal.get()
    return principal.user_id if principal is not None and principal.proven else None
