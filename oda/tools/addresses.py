"""Restricts the addresses that a model's tools may reach after it has read untrusted text.

An address can exfiltrate data: in its path, its query, or its host name. Therefore, once untrusted
text has come into a session, tools reach only addresses that a person has written in a message,
that the agent's instructions contain, or that a search has found. Any other address needs a
person's approval.

A tool declares the arguments that are addresses (`reaches`) and the fields of its results that hold
addresses found by a search (`finds`); for third-party tools, capabilities declare them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import httpx
from google.adk.events import Event
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from oda.tools.idempotency import STEERING_TOOLS, call_key
from oda.tools.untrusted import is_untrusted

Function = TypeVar("Function", bound=Callable[..., Any])
Fields = Mapping[str, Sequence[str]]
"""Names of arguments or result fields, by names or patterns of tools."""

_REACHES, _FINDS = "__oda_reaches__", "__oda_finds__"
_ADDRESS = re.compile(
    r"""https?://[^\s<>"'`\\]+|(?<![@\w.-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?][^\s<>"'`\\]*)?""",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"[^!-~]")
_CLOSING = ".,;:!?)]}*_|~"
_MOST_TRIED = 8
"""Maximum number of closing characters tried as not belonging to an address."""
_OF_ADK = "adk_"


def reaches(*arguments: str) -> Callable[[Function], Function]:
    """Declare which arguments of a function are addresses that it sends something to.

    An ADK tool object declares the same with `custom_metadata={"reaches": ["url"]}`, third-party
    tools with `Capability.reaches`.
    """
    return _marking(_REACHES, arguments)


def finds(*fields: str) -> Callable[[Function], Function]:
    """Declare the keys under which a function's results hold addresses found by a search.

    An ADK tool object declares the same with `custom_metadata={"finds": ["url"]}`, third-party
    tools with `Capability.finds`.
    """
    return _marking(_FINDS, fields)


@dataclass
class Addresses:
    """The sources of addresses that an agent's tools may reach."""

    reaches: Fields = field(default_factory=dict)
    finds: Fields = field(default_factory=dict)
    untrusted: Sequence[str] = ()
    """Tools, by name or pattern, whose results contain untrusted text."""
    trusted: Sequence[str] = ()
    """Tools that are not the agent's own but whose results come from the agent's author."""
    instructions: str = ""
    """Instructions of the agent; addresses in them may be reached."""
    _known: dict[str, tuple[bool, tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    """Cached by tool name: whether its results are trusted, its address arguments, its result
    fields.
    """

    def learn(self, tool: BaseTool) -> bool:
        """Register a tool of the agent; return whether it reaches addresses."""
        arguments = _declared(tool, _REACHES, "reaches") or _of(self.reaches, tool.name)
        strange = isinstance(tool, AgentTool) or is_untrusted(tool)
        strange = strange or any(fnmatchcase(tool.name, one) for one in self.untrusted)
        fields = _declared(tool, _FINDS, "finds") or _of(self.finds, tool.name)
        self._known[tool.name] = (not strange, arguments, fields)
        return bool(arguments)

    def unknown(self, tool: str, args: Mapping[str, Any], context: ToolContext) -> str | None:
        """Return the first address of a call that needs approval; None if there is none."""
        _, arguments, _ = self._known.get(tool, (False, (), ()))
        asked = [text for name in arguments for text in _texts(args.get(name))]
        events = context.session.events
        nested = is_nested(context)
        if not asked or not (nested or any(map(self._is_strange, events))):
            return None
        allowed = set(addresses_in(self.instructions))
        for event in events:
            allowed.update(self._found(event))
            if not nested and is_by_person(event):
                allowed.update(addresses_in(_text(event)))
        return next((text for text in asked if normal(text) not in allowed), None)

    def _is_strange(self, event: Event) -> bool:
        """Return whether an event may contain untrusted text."""
        if event.actions.compaction:
            return True
        return any(
            not self._is_trusted(response.name or "") for response in event.get_function_responses()
        )

    def _is_trusted(self, tool: str) -> bool:
        if tool.startswith(_OF_ADK) or tool in self.trusted or tool in STEERING_TOOLS:
            return True
        return self._known.get(tool, (False,))[0]

    def _found(self, event: Event) -> Iterator["Normal"]:
        for response in event.get_function_responses():
            _, _, fields = self._known.get(response.name or "", (False, (), ()))
            if fields:
                for text in _values(response.response, fields):
                    if (address := normal(text)) is not None:
                        yield address


def is_nested(context: ToolContext) -> bool:
    """Return whether the call is made by an agent that runs as a tool: a model has prompted it."""
    return call_key(context).turn != context.invocation_id


def is_by_person(event: Event) -> bool:
    """Return whether a person has written the event; events injected by a graph have a path."""
    return event.author == "user" and not event.node_info.path


Normal = tuple[str, bytes, int | None, bytes]
"""Scheme, host, port and target of an address."""


def normal(address: str) -> Normal | None:
    """Return an address in normal form without its fragment; None if it is not an address."""
    try:
        url = httpx.URL(address.strip())
    except (httpx.InvalidURL, UnicodeError):
        return None
    if url.scheme not in ("http", "https") or not url.raw_host or url.userinfo:
        return None
    return url.scheme, url.raw_host.rstrip(b"."), url.port, url.raw_path


def addresses_in(text: str) -> Iterator[Normal]:
    """Yield the addresses in a text, including those without `https://`."""
    for found in _ADDRESS.finditer(text):
        for written in _readings(found[0]):
            spelled = (
                (written,) if "://" in written else (f"https://{written}", f"http://{written}")
            )
            yield from filter(None, map(normal, spelled))


def _readings(written: str) -> Iterator[str]:
    """Yield readings of an address: trailing punctuation or other scripts may not belong to it."""
    for whole in dict.fromkeys((written, _FOREIGN.split(written, maxsplit=1)[0])):
        yield whole
        for _ in range(_MOST_TRIED):
            if whole[-1:] not in _CLOSING or not whole:
                break
            whole = whole[:-1]
            yield whole


def _marking(name: str, values: tuple[str, ...]) -> Callable[[Function], Function]:
    def mark(function: Function) -> Function:
        setattr(function, name, values)
        return function

    return mark


def _declared(tool: BaseTool, mark: str, key: str) -> tuple[str, ...]:
    of_object = (tool.custom_metadata or {}).get(key) or ()
    return tuple(of_object or getattr(getattr(tool, "func", None), mark, ()))


def _of(fields: Fields, tool: str) -> tuple[str, ...]:
    return tuple(one for name, some in fields.items() if fnmatchcase(tool, name) for one in some)


def _text(event: Event) -> str:
    parts = (event.content and event.content.parts) or ()
    return "\n".join(part.text for part in parts if part.text)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in an argument: an address, or a list of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _values(value: Any, keys: Iterable[str]) -> Iterator[str]:
    """Yield the texts under these keys, at any depth; MCP servers return JSON in texts."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item) if key in keys else _values(item, keys)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(item, keys)
    elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            yield from _values(json.loads(value), keys)
        except (ValueError, RecursionError):
            return
