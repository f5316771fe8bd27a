"""The message protocol: a turn as spans and content, derived from its log and nothing else."""

from oda.message.protocol.builder import MessageBuilder, TurnRecord, messages_of
from oda.message.protocol.records import ContentMessage, Message, SpanEnd, SpanStart

__all__ = [
    "ContentMessage",
    "Message",
    "MessageBuilder",
    "SpanEnd",
    "SpanStart",
    "TurnRecord",
    "messages_of",
]
