"""A LangGraph thread as JSON: its latest checkpoints, in LangGraph's own msgpack, as base64.

Reading it back makes objects of LangGraph's own list of safe types and of those that an application
names; never by pickle. Needs the extra `langgraph`.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, JsonValue

from oda.errors import ConfigurationError

THREAD = "agent"

_Typed = tuple[Literal["msgpack", "bytes", "bytearray", "null"], str]
"""How a value is written, and the value as base64."""


class StoredCheckpoint(BaseModel):
    """One checkpoint, of the graph itself or of a subgraph that waits."""

    namespace: str
    checkpoint: _Typed
    metadata: _Typed
    writes: list[tuple[str, str, _Typed]]
    """Task, channel and value of what finished tasks have written, interrupts among it."""


class StoredThread(BaseModel):
    """All that a graph must know to go on."""

    checkpoints: list[StoredCheckpoint] = []


class Checkpoints:
    """Reads and writes threads whose state holds safe types only.

    Args:
        types: Classes of the application that may stand in a graph's state.
    """

    def __init__(self, types: Sequence[type]) -> None:
        self._serializer = JsonPlusSerializer(
            pickle_fallback=False, allowed_msgpack_modules=list(types) or None
        )

    def restored(self, state: Mapping[str, JsonValue]) -> InMemorySaver:
        """Return a saver that holds the thread.

        Raises:
            ValidationError: the state was not exported by `exported`.
            ConfigurationError: it contains types that are not declared.
        """
        saver = InMemorySaver(serde=self._serializer)
        for stored in StoredThread.model_validate(state).checkpoints:
            checkpoint = self._read(stored.checkpoint)
            config: RunnableConfig = {
                "configurable": {"thread_id": THREAD, "checkpoint_ns": stored.namespace}
            }
            saved = saver.put(
                config, checkpoint, self._read(stored.metadata), checkpoint["channel_versions"]
            )
            for task, channel, value in stored.writes:
                saver.put_writes(saved, [(channel, self._read(value))], task)
        return saver

    def exported(self, saver: InMemorySaver, *, waits: bool) -> dict[str, JsonValue]:
        """Return the thread in a saver; checkpoints of subgraphs are included only if it waits.

        Raises:
            ConfigurationError: it contains types that are not declared.
        """
        with _nothing_blocked():
            latest: dict[str, CheckpointTuple] = {}
            for found in saver.list({"configurable": {"thread_id": THREAD}}):  # newest first
                latest.setdefault(found.config["configurable"]["checkpoint_ns"], found)
        kept = [
            self._stored(namespace, found)
            for namespace, found in latest.items()
            if waits or ":" not in namespace
        ]
        return StoredThread(checkpoints=kept).model_dump(mode="json")

    def _stored(self, namespace: str, found: CheckpointTuple) -> StoredCheckpoint:
        return StoredCheckpoint(
            namespace=namespace,
            checkpoint=self._written(found.checkpoint),
            metadata=self._written(found.metadata),
            writes=[
                (task, channel, self._written(value))
                for task, channel, value in found.pending_writes or ()
            ],
        )

    def _written(self, value: Any) -> _Typed:
        kind, data = self._serializer.dumps_typed(value)
        return cast(Any, kind), b64encode(data).decode()

    def _read(self, typed: _Typed) -> Any:
        kind, data = typed
        with _nothing_blocked():
            return self._serializer.loads_typed((kind, b64decode(data)))


@contextmanager
def _nothing_blocked() -> Iterator[None]:
    """LangGraph replaces values of types that are not safe by plain ones; that is an error here."""
    blocked: list[SerdeEvent] = []

    def note(event: SerdeEvent) -> None:
        if "blocked" in event["kind"]:
            blocked.append(event)

    forget = register_serde_event_listener(note)
    try:
        yield
    finally:
        forget()
    if blocked:
        names = sorted({f"{event['module']}.{event['name']}" for event in blocked})
        raise ConfigurationError(
            f"The graph's state holds {', '.join(names)}.", remedy="name these classes in `types`"
        )
