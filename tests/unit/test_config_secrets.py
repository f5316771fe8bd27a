"""Secrets come from the environment, late, and do not show."""

import pytest
from pydantic import SecretStr

from oda.config import resolve_secrets
from oda.config.secrets import known_secrets
from oda.errors import ConfigurationError
from oda.secret_mask import secrets


def test_references_are_replaced_by_the_variables() -> None:
    resolved = resolve_secrets("${USER}:${TOKEN}@", {"USER": "me", "TOKEN": "t0ken"})
    assert resolved.get_secret_value() == "me:t0ken@"


def test_text_without_references_stays_as_it_is() -> None:
    assert resolve_secrets("$HOME costs $5", {}).get_secret_value() == "$HOME costs $5"


def test_a_value_that_looks_like_a_reference_is_not_replaced_again() -> None:
    assert resolve_secrets("${A}", {"A": "${B}", "B": "x"}).get_secret_value() == "${B}"


def test_a_resolved_secret_does_not_show() -> None:
    resolved = resolve_secrets("Bearer ${TOKEN}", {"TOKEN": "t0ken"})
    assert "t0ken" not in f"{resolved} {resolved!r}"


@pytest.mark.parametrize("environ", [{}, {"TOKEN": ""}])
def test_a_missing_or_empty_variable_is_named_with_its_place(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_secrets("${TOKEN}", environ, where="servers.docs.env.TOKEN")
    assert str(caught.value) == (
        "servers.docs.env.TOKEN: the environment variable 'TOKEN' is not set "
        "(set TOKEN in the environment or in .env)"
    )


def test_secrets_are_known_by_the_names_of_variables_and_in_urls() -> None:
    values = {
        "OPENAI_API_KEY": "of the provider",
        "GITHUB_TOKEN": "of a host",
        "HOME": "/home/ann",
        "max_tokens": 5,
        "model_api_key": SecretStr("of a setting"),
        "database_url": "postgresql+psycopg://ann:a%20b@host/name",
        "session_service": "redis://:plain@host",
        "other_url": "https://host:8000/path@2",
    }
    assert set(known_secrets(values)) == {
        "of the provider",
        "of a host",
        "of a setting",
        "a%20b",
        "a b",
        "plain",
    }


def test_what_fills_in_a_secret_is_masked() -> None:
    environ = {"MY_TOKEN": "token-4711", "PLACE": "place-4711", "SENT": "header-4711"}
    resolve_secrets("${MY_TOKEN} ${PLACE}", environ, where="servers.a.url")
    resolve_secrets("Bearer ${SENT}", environ, where="servers.a.headers.Authorization")
    assert secrets.mask("token-4711 place-4711 header-4711") == "*** place-4711 ***"
