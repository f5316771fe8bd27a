"""The public keys of an issuer of tokens: fetched, cached, rotated."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from oda.clock import Clock
from oda.errors import UnavailableError
from oda.settings import JwtSettings
from oda.telemetry import get_logger

log = get_logger(__name__)

RETRY_S = 10.0
"""How long after a fetch, successful or not, an unknown key may cause the next one."""
FRESH_S = 300.0
"""Older keys are fetched again, in the background."""
STALE_S = 3600.0
"""Older keys are not used before the issuer has been asked."""
_TIMEOUT_S = 5.0
_KEY_TYPES = ("RSA", "EC", "OKP")
"""Never `oct`: a secret has no place among public keys."""


@dataclass(frozen=True)
class _Fetched:
    at: float
    keys: Mapping[str | None, Mapping[str, Any]]
    """JWKs by `kid`."""


class IssuerKeys:
    """Keys to check signatures with. It outlives outages of the issuer with what it has."""

    def __init__(self, settings: JwtSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._client = httpx.AsyncClient(timeout=_TIMEOUT_S)
        self._fetched: _Fetched | None = None
        self._asked_at: float | None = None
        self._unreachable = False
        self._fetching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        await self._client.aclose()

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """The key of that id, made for the algorithm; None when the issuer has no such key.

        Args:
            kid: None is the only key of an issuer that has just one.

        Raises:
            UnavailableError: the key is not known, and the issuer cannot be asked.
        """
        jwk = self._known(kid)
        age = self._clock.now() - self._fetched.at if self._fetched is not None else STALE_S
        if jwk is None or age >= STALE_S:
            await self._fetch_again()
            jwk = self._known(kid)
        elif age >= FRESH_S:
            self._start_fetch()
        if jwk is None:
            if self._unreachable:
                raise UnavailableError("The issuer of the token cannot be reached; try again.")
            return None
        return _public_key(jwk, algorithm)

    def _known(self, kid: str | None) -> Mapping[str, Any] | None:
        keys = self._fetched.keys if self._fetched is not None else {}
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(kid)

    async def _fetch_again(self) -> None:
        fetching = self._start_fetch()
        if fetching is not None:
            await asyncio.shield(fetching)

    def _start_fetch(self) -> asyncio.Task[None] | None:
        """Return the running fetch, or start one; None if the last one was too recent."""
        if self._fetching is not None and not self._fetching.done():
            return self._fetching
        now = self._clock.now()
        if self._asked_at is not None and now - self._asked_at < RETRY_S:
            return None
        self._asked_at = now
        self._fetching = asyncio.create_task(self._fetch(), name="oda issuer keys")
        return self._fetching

    async def _fetch(self) -> None:
        try:
            found = _signing_keys(await self._get(await self._find_url()))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            self._unreachable = True
            log.warning("issuer_unreachable", issuer=self._settings.issuer, error=str(error))
            return
        self._unreachable = False
        self._fetched = _Fetched(self._clock.now(), found)

    async def _find_url(self) -> str:
        """Return the URL of the issuer's keys.

        Raises:
            httpx.HTTPError: the issuer does not answer.
            ValueError: the answer is not the issuer's OpenID configuration.
        """
        if self._settings.jwks_url:
            return self._settings.jwks_url
        issuer = self._settings.issuer or ""
        base = f"{issuer.rstrip('/')}/.well-known"
        try:
            document = await self._get(f"{base}/openid-configuration")
        except httpx.HTTPStatusError as error:
            if not error.response.is_client_error:
                raise
            return f"{base}/jwks.json"
        if document.get("issuer") != issuer:
            raise ValueError("the OpenID configuration names another issuer")
        return str(document.get("jwks_uri"))

    async def _get(self, url: str) -> Mapping[str, Any]:
        response = await self._client.get(url, headers={"Accept": "application/json"})
        response.raise_for_status()
        document = response.json()
        if not isinstance(document, dict):
            raise ValueError(f"{url} answers no JSON object")
        return document


def _signing_keys(document: Mapping[str, Any]) -> Mapping[str | None, Mapping[str, Any]]:
    """The usable keys of a JWK set.

    Raises:
        ValueError: it is no JWK set.
    """
    keys = document.get("keys")
    if not isinstance(keys, list):
        raise ValueError("the JWK set has no keys")
    return {
        jwk.get("kid"): jwk
        for jwk in keys
        if isinstance(jwk, dict)
        and jwk.get("kty") in _KEY_TYPES
        and jwk.get("use", "sig") == "sig"
        and isinstance(jwk.get("kid"), str | None)
    }


def _public_key(jwk: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    if jwk.get("alg", algorithm) != algorithm:
        return None
    try:
        return PyJWK(dict(jwk), algorithm)
    except PyJWTError:
        return None
