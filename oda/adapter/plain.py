"""Plain Python as an agent: a function, a method or a class, sync or async, generator or not."""

import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Protocol, runtime_checkable

from pydantic import JsonValue

from oda.adapter.base import Adapter
from oda.adapter.protocol import (
    AgentAction,
    AgentInput,
    AgentMessage,
    AgentOutput,
    AgentStream,
)
from oda.adapter.threads import in_thread, in_threads


@runtime_checkable
class Remembering(Protocol):
    """An object that can be stopped and gone on with; what else it has is its own business."""

    def export_state(self) -> dict[str, JsonValue]: ...

    def load_state(self, state: Mapping[str, JsonValue]) -> None: ...


@runtime_checkable
class Resettable(Protocol):
    """An object that can forget; else `load_state({})` has to do that."""

    def reset(self) -> None: ...


class PlainAgent(Adapter):
    """A callable as an agent.

    It is called with the `AgentInput` and, if it takes two arguments, the workflow's state. What it
    yields are messages (texts, or `AgentMessage`s), which come as it yields them; what it returns
    is its output. An async generator, which cannot return anything, yields its `AgentOutput` last.
    Anything else than an `AgentOutput` becomes the content of one. What is not async runs in a
    thread; who cancels it waits until its current step has ended, since threads cannot be stopped.

    Args:
        run: A function, a bound method (`PlainAgent(Editor().execute)`), or a class without
            arguments: then its objects are called, each session has one of its own, and a new one
            takes its place when it is reset.
        method: Of the objects of a class, what is called.
        then: The action of an output that names none.
        memory: What remembers something, by default the object of the method; without
            `export_state` and `load_state` the agent has no state.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        *,
        method: str = "__call__",
        name: str | None = None,
        description: str | None = None,
        then: AgentAction = AgentAction.FINISH,
        memory: object = None,
    ) -> None:
        super().__init__(
            name or str(getattr(run, "__name__", type(run).__name__)),
            description if description is not None else (inspect.getdoc(run) or ""),
        )
        self._make = (lambda: getattr(run(), method)) if inspect.isclass(run) else None
        self._given = memory
        self._then = then
        self._take(run if self._make is None else self._make())
        self.streams = _is_any(self._call, inspect.isgeneratorfunction, inspect.isasyncgenfunction)

    def _take(self, call: Callable[..., Any]) -> None:
        self._call = call
        self._takes_state = _takes_state(call)
        self._object = self._given or getattr(call, "__self__", call)

    async def _run(self, input: AgentInput, state: Any) -> AgentStream:
        arguments = (input, state) if self._takes_state else (input,)
        async with aclosing(self._results(arguments)) as results:
            async for item in results:
                match item:
                    case AgentMessage() | AgentOutput():
                        yield item
                    case Returned(value=AgentOutput() as output):
                        yield output
                    case Returned(value=value):
                        yield AgentOutput(action=self._then, content=value)
                    case _:
                        yield AgentMessage(content=str(item))

    async def _results(self, arguments: tuple[Any, ...]) -> AsyncGenerator[Any, None]:
        """Yield what the callable yields, and finally its return value."""
        call = self._call
        if _is_any(call, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
            made = call(*arguments)
        else:
            made = await in_thread(lambda: call(*arguments))
        if inspect.isasyncgen(made):
            async with aclosing(made) as items:
                async for item in items:
                    yield item
            yield Returned(None)
        elif inspect.isgenerator(made):
            async with aclosing(in_threads(made, Returned)) as items:
                async for item in items:
                    yield item
        else:
            yield Returned(await made if inspect.isawaitable(made) else made)

    def export_state(self) -> dict[str, JsonValue]:
        return self._object.export_state() if isinstance(self._object, Remembering) else {}

    def load_state(self, state: Mapping[str, JsonValue]) -> None:
        if not state:
            self.reset()
        elif isinstance(self._object, Remembering):
            self._object.load_state(state)

    def reset(self) -> None:
        if self._make is not None:
            self._take(self._make())
        elif isinstance(self._object, Resettable):
            self._object.reset()
        elif isinstance(self._object, Remembering):
            self._object.load_state({})


class Returned:
    """The return value of a callable, yielded last."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _is_any(call: Callable[..., Any], *kinds: Callable[[object], bool]) -> bool:
    """Return whether a function, or the `__call__` of an object, is of one of these kinds."""
    return any(kind(call) or kind(type(call).__call__) for kind in kinds)


def _takes_state(call: Callable[..., Any]) -> bool:
    """Return whether there is a second parameter, for the workflow's state."""
    parameters = [
        parameter
        for parameter in inspect.signature(call).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(parameters) < 2:
        return False
    return parameters[1].default is inspect.Parameter.empty or parameters[1].name == "state"
