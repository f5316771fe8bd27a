"""Refused tool calls in the audit."""

from oda.identity.audit import AuditLog
from oda.telemetry import current_trace_id
from oda.tools.policed import RefusalSink, ToolRefusal


def audited_refusals(log: AuditLog) -> RefusalSink:
    """Return a sink that writes refusals to the audit log, under the user of the session."""

    def record(refusal: ToolRefusal) -> object:
        return log.record(
            actor=f"agent:{refusal.agent}",
            user_id=refusal.user,
            key_id=None,
            action="tool call refused",
            target=refusal.tool,
            status=403,
            trace_id=current_trace_id(),
            detail={
                "app": refusal.app,
                "session": refusal.session,
                "turn": refusal.turn,
                "call": refusal.call_id,
                "mode": refusal.mode,
            },
        )

    return record
