"""Secrets stand in the environment; configuration only refers to them, as `${NAME}`."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pydantic import SecretStr

from oda.errors import ConfigurationError
from oda.secret_mask import secrets

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PASSWORD_IN_URL = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SECRET_WORDS = frozenset(
    {
        "apikey",
        "authorization",
        "cookie",
        "credentials",
        "key",
        "passphrase",
        "passwd",
        "password",
        "secret",
        "token",
    }
)


def resolve_secrets(
    text: str, environ: Mapping[str, str], *, where: str | None = None
) -> SecretStr:
    """`text` with every `${NAME}` replaced by the variable `NAME` of `environ`.

    `where` is the place of the text in the configuration, for the error message. What is filled in
    is masked from now on, if the variable or the place has the name of a secret.

    Raises:
        ConfigurationError: when a variable is not set, or is empty.
    """

    def value_of(reference: re.Match[str]) -> str:
        name = reference[1]
        if value := environ.get(name):
            if _names_a_secret(name) or _names_a_secret((where or "").rpartition(".")[2]):
                secrets.register(value)
            return value
        place = f"{where}: " if where else ""
        raise ConfigurationError(
            f"{place}the environment variable {name!r} is not set",
            remedy=f"set {name} in the environment or in .env",
        )

    return SecretStr(_REFERENCE.sub(value_of, text))


def check_references(text: str) -> str:
    """Return `text` if all its references are well formed.

    Raises:
        ValueError: when a `${` does not begin a reference.
    """
    if "${" in _REFERENCE.sub("", text):
        raise ValueError("a reference must have the form ${NAME}")
    return text


def is_reference(text: str) -> bool:
    """Return whether `text` consists of a single reference."""
    return _REFERENCE.fullmatch(text) is not None


def known_secrets(values: Mapping[str, object]) -> Iterator[str]:
    """The secrets among environment variables or settings, by name, to be masked.

    These are the values whose name says *secret*, and the passwords in URLs.
    """
    for name, value in values.items():
        if isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, str):
            if _names_a_secret(name):
                yield value
            for password in _PASSWORD_IN_URL.findall(value):
                yield from {password, unquote(password)}


def literal_secrets(values: Mapping[str, object]) -> Iterator[str]:
    """Return the dotted keys of secrets, by name, whose values are in plain text."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner in literal_secrets(value))
        elif _names_a_secret(name) and isinstance(value, str) and not _has_reference(value):
            yield name


def _has_reference(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def _names_a_secret(name: str) -> bool:
    """Judged by the last word: `X-Api-Key` and `githubToken` do, `max_tokens` does not."""
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in _SECRET_WORDS
