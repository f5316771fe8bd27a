"""The actions that an agent brings for `oda sidecar`, in `agents/<app>/sidecar.py`."""

from collections.abc import Mapping

from oda.agent.definition import Definitions, broken_part
from oda.errors import ConfigurationError
from oda.server.sidecar import Action

_FILE = "sidecar"
_FUNCTION = "actions"


def actions_of(definitions: Definitions, agent: str | None) -> tuple[str, Mapping[str, Action]]:
    """The agent and its actions.

    Args:
        agent: Its name; None where only one has any.

    Raises:
        AgentNotFoundError: there is no agent of that name.
        AgentLoadError: it, or its sidecar, is broken.
        ConfigurationError: it has no sidecar, or none or several have one.
    """
    if agent is not None:
        if (found := _load(definitions, agent)) is None:
            raise ConfigurationError(
                f"the agent {agent!r} has no sidecar", remedy=f"give it a {_FILE}.py"
            )
        return agent, found
    having = {
        name: found
        for name in definitions.names()
        if (found := _load(definitions, name)) is not None
    }
    if len(having) != 1:
        raise ConfigurationError(
            f"{len(having)} agents have a sidecar", remedy="name one: oda sidecar AGENT"
        )
    return next(iter(having.items()))


def _load(definitions: Definitions, name: str) -> Mapping[str, Action] | None:
    make = definitions.part(name, _FUNCTION, file=_FILE)
    if make is None:
        return None
    try:
        found = make()
    except Exception as error:
        raise broken_part(name, _FILE, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise broken_part(name, _FILE, f"{_FUNCTION}() returns {kind}, not a mapping")
    return found
