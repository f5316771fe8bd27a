"""Refused tool calls in the audit."""

from oda.identity.audit import AuditLog
from oda.tools.policed import RefusalSink, ToolRefusal


def audited_refusals(log: AuditLog) -> RefusalSink:
    """What writes each refusal into the audit, under the user whose session it is."""

    def record(refusal: ToolRefusal) -> object:
        return log.record(
            actor=f"agent:{refusal.agent}",
            user_id=refusal.user,
            key_id=None,
            action="tool call refused",
            target=refusal.tool,
            status=403,
            trace_id=None,
            detail={
                "app": refusal.app,
                "session": refusal.session,
                "turn": refusal.turn,
                "call": refusal.call_id,
                "mode": refusal.mode,
            },
        )

    return record
