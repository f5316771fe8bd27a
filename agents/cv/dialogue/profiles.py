"""The plan for accounts on social networks, which stand in a list inside the basics. Pure."""

from collections.abc import Iterator

from pydantic import JsonValue

from mcp_tools.resume import JsonObject, Resume

from .decision import ToolCall
from .plan import edit_call, read_call
from .understanding.profiles import FIELD, same_network
from .understanding.recognition import Intent, Recognition

_PATH = f"basics.{FIELD}"


def is_about_profile(said: Recognition) -> bool:
    """Tell whether something is said about one account."""
    return bool(said.target.names and said.fields) and all(
        name.startswith(FIELD) for name in said.fields
    )


def profile_calls(said: Recognition, resume: Resume) -> tuple[ToolCall, ...]:
    """Return the calls for an account; none when there is no such account or nothing to do."""
    path = next(_paths(said.target.names[0], resume), None)
    paths = [f"{path}{name.removeprefix(FIELD)}" for name in said.fields if path]
    if said.intent is Intent.READ:
        return tuple(read_call(place) for place in paths)
    if said.intent is Intent.DELETE:
        return tuple(edit_call(place, "delete") for place in paths)
    profiles = said.data.get(FIELD)
    if not isinstance(profiles, list) or not profiles:
        return ()
    if path is None:
        return (edit_call(_PATH, "add", profiles[0]),)
    return (edit_call(path, "update", _without_network(profiles[0])),)


def _paths(network: str, resume: Resume) -> Iterator[str]:
    basics = resume.to_json().get("basics")
    profiles = basics.get(FIELD) if isinstance(basics, dict) else None
    for index, profile in enumerate(profiles if isinstance(profiles, list) else ()):
        if isinstance(profile, dict) and same_network(str(profile.get("network", "")), network):
            yield f"{_PATH}[{index}]"


def _without_network(profile: JsonValue) -> JsonObject:
    fields = profile if isinstance(profile, dict) else {}
    return {name: value for name, value in fields.items() if name != "network"}
