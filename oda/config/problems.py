"""Descriptions of configuration errors, each one sentence with a remedy. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from oda.config.records import LITERAL_SECRET, Configuration, ModelRecord

_TAGS = ("stdio", "http", "sse")
"""The tags that pydantic puts into the path of a field of an MCP server."""

_REMEDIES = {
    "extra_forbidden": "correct or remove it",
    "union_tag_not_found": f"use one of {', '.join(_TAGS)}",
    "union_tag_invalid": f"use one of {', '.join(_TAGS)}",
    "string_type": "put it in quotes",
    "int_type": "write a number, without quotes",
    "float_type": "write a number, without quotes",
    "bool_type": "write true or false",
    "string_pattern_mismatch": "begin with a letter; use letters, digits and _",
    LITERAL_SECRET: "write ${NAME} and set NAME in the environment",
}
"""Remedies by pydantic's error type; errors of other types state it in their text."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    text: str
    """With its key: `servers.docs.command: field required`."""
    remedy: str | None
    """The remedy; None if the text states it."""


def describe(error: ValidationError) -> Problem:
    """All that validation has found in a file, with the remedy for the first."""
    errors = error.errors(include_url=False)
    return Problem("; ".join(f"{_key(one)}{_reason(one)}" for one in errors), _remedy(errors[0]))


def _key(error: ErrorDetails) -> str:
    """The keys as they stand in the file."""
    path = [str(step) for step in error["loc"] if step != "[key]"]
    if path[:1] == ["servers"] and len(path) > 2 and path[2] in _TAGS:
        del path[2]
    return f"{'.'.join(path)}: " if path else ""


def _reason(error: ErrorDetails) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "union_tag_not_found":
            return "transport is missing"
        case "union_tag_invalid":
            return "unknown transport"
        case "dict_type" | "model_type" | "mapping_type" | "model_attributes_type":
            return "must hold keys and values"
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case _:
            return error["msg"][:1].lower() + error["msg"][1:]


def _remedy(error: ErrorDetails) -> str | None:
    if error["type"] == "missing":
        return f"add {error['loc'][-1]}"
    return _REMEDIES.get(error["type"])


def dangling_references(configuration: Configuration) -> Iterator[tuple[str, Problem]]:
    """References to what does not exist and circles of fallbacks, each with its file's name."""
    models = configuration.models
    for name, model in models.items():
        for fallback in model.fallbacks:
            if fallback not in models:
                key = f"models.{name}.fallbacks"
                yield "models.yaml", _unknown(key, "model", fallback, models)
    if circle := _circle(models):
        yield (
            "models.yaml",
            Problem(
                f"models.{circle[0]}.fallbacks: {' -> '.join(circle)} is a circle",
                "remove one of these fallbacks",
            ),
        )
    for name, agent in configuration.agents.items():
        key = f"agents.{name}"
        if agent.model and agent.model not in models and not names_a_provider(agent.model):
            yield "agents.yaml", _unknown(f"{key}.model", "model", agent.model, models)
        if agent.retry != "default" and agent.retry not in configuration.retry_policies:
            known = configuration.retry_policies
            yield "agents.yaml", _unknown(f"{key}.retry", "retry policy", agent.retry, known)
        for server in agent.mcp_servers:
            if server not in configuration.mcp_servers:
                known_servers = configuration.mcp_servers
                yield (
                    "agents.yaml",
                    _unknown(f"{key}.mcp_servers", "MCP server", server, known_servers),
                )


def names_a_provider(model: str) -> bool:
    """Return whether `model` includes its provider: `openai/gpt-4o`, `gemini-2.5-flash`."""
    return "/" in model or model.startswith(("gemini-", "gemma-"))


def _unknown(key: str, kind: str, name: str, known: Mapping[str, Any]) -> Problem:
    close = get_close_matches(name, known, n=1)
    if close:
        remedy = f"did you mean {close[0]!r}?"
    elif known:
        remedy = f"known are: {', '.join(sorted(known))}"
    else:
        remedy = "none is configured"
    if kind == "model" and not close:
        remedy += "; a model that is not in models.yaml is written with its provider, openai/gpt-4o"
    return Problem(f"{key}: there is no {kind} {name!r}", remedy)


def _circle(models: Mapping[str, ModelRecord]) -> list[str]:
    """Return a cycle of fallbacks, from a model to itself; empty if there is none."""
    finished: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in finished or name not in models:
            return []
        for fallback in models[name].fallbacks:
            if circle := walk(fallback, [*way, name]):
                return circle
        finished.add(name)
        return []

    for name in models:
        if circle := walk(name, []):
            return circle
    return []
