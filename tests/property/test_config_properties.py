"""What holds for every configuration."""

import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from oda.config import (
    Configuration,
    ModelRecord,
    RetryRecord,
    load_configuration,
    resolve_secrets,
)
from oda.config.problems import dangling_references
from oda.errors import ConfigurationError

names = st.sampled_from("abcdef")
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.dictionaries(names, st.lists(names, max_size=3)))
def test_a_graph_of_fallbacks_is_accepted_just_when_every_walk_along_it_ends(
    graph: dict[str, list[str]],
) -> None:
    models = {
        name: ModelRecord(model="x", fallbacks=tuple(f for f in fallbacks if f in graph))
        for name, fallbacks in graph.items()
    }
    accepted = not list(dangling_references(Configuration(models=models)))
    reachable = set(models)
    for _ in models:
        reachable = {f for name in reachable for f in models[name].fallbacks}
    assert accepted == (not reachable)


@given(st.sampled_from(["models", "agents", "mcp", "retry"]), anything)
@settings(max_examples=200)
def test_any_content_of_a_file_is_either_taken_or_refused_in_words(
    file: str, content: object
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"{file}.yaml"
        path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
        try:
            load_configuration(Path(directory))
        except ConfigurationError as error:
            assert str(error).startswith(str(path))


@given(st.text(), st.dictionaries(st.from_regex(r"[A-Z_]{1,4}", fullmatch=True), st.text("$x{}")))
def test_resolving_gives_text_or_names_a_variable_and_never_half_of_it(
    text: str, environ: dict[str, str]
) -> None:
    source = text + "".join(f"${{{name}}}" for name in environ)
    try:
        resolved = resolve_secrets(source, environ).get_secret_value()
    except ConfigurationError as error:
        assert "is not set" in str(error)
    else:
        assert resolved.endswith("".join(environ.values()))


@given(st.floats(), st.floats())
def test_a_retry_policy_has_finite_waits_in_order_or_does_not_exist(
    initial: float, longest: float
) -> None:
    try:
        policy = RetryRecord(initial_delay_s=initial, max_delay_s=longest)
    except ValidationError:
        return
    assert 0 <= policy.initial_delay_s <= policy.max_delay_s < float("inf")
