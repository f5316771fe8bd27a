"""Every request that may change something is written down, with who asked and how it ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.identity.audit import AuditLog
from oda.identity.principal import Principal, current_principal
from oda.server.request_path import path_of, route_template
from oda.server.trace import trace_id_of

_MUTATING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_KEY = "oda_audit_detail"


def audit_log_of(scope: Scope) -> AuditLog:
    """The audit of this server; WebSocket commands record themselves there."""
    log: AuditLog = scope["app"].state.audit
    return log


def audit_answers(scope: Scope, responses: Sequence[tuple[str, bool | None]]) -> None:
    """Let the audit of this request say which questions were answered, and what was confirmed.

    Args:
        responses: The id of each question, and whether it was confirmed; never the payload.
    """
    scope[_KEY].update(answers_detail(responses))


def answers_detail(responses: Sequence[tuple[str, bool | None]]) -> Mapping[str, Any]:
    """Return the part of a person's answers that the audit log records."""
    return {"answers": [{"id": id_, "confirmed": confirmed} for id_, confirmed in responses]}


class AuditMiddleware:
    """Records a mutating request when its answer begins: no body, no header, no query."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = current_principal.get()
        if scope["type"] != "http" or scope["method"] not in _MUTATING or principal is None:
            await self._app(scope, receive, send)
            return
        detail: dict[str, Any] = {}
        scope[_KEY] = detail
        log = audit_log_of(scope)
        recorded = False

        async def send_and_record(message: Message) -> None:
            nonlocal recorded
            if message["type"] == "http.response.start":
                recorded = True
                _record(log, principal, scope, message["status"], detail)
            await send(message)

        try:
            await self._app(scope, receive, send_and_record)
        except Exception:
            if not recorded:
                _record(log, principal, scope, 500, detail)
            raise


def _record(
    log: AuditLog, principal: Principal, scope: Scope, status: int, detail: Mapping[str, Any]
) -> None:
    log.record(
        actor=principal.actor,
        user_id=principal.user_id,
        key_id=principal.key_id,
        action=f"{scope['method']} {route_template(scope)}",
        target=path_of(scope),
        status=status,
        trace_id=trace_id_of(scope),
        detail=detail,
    )
