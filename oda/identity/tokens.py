"""JWTs of a configured issuer: pinned algorithms, issuer, audience, times."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, NoReturn, Self

import jwt
from jwt.exceptions import PyJWTError

from oda.clock import Clock
from oda.errors import InvalidRequestError, UnauthenticatedError
from oda.identity.jwks import IssuerKeys
from oda.identity.principal import Principal, check_id
from oda.settings import JwtSettings

_MAX_LENGTH = 16_384
_LAST_SECOND = 1e12
"""No time of a token is further from 1970."""


class Tokens:
    """Checks tokens of the issuer of the settings."""

    def __init__(self, settings: JwtSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._keys = IssuerKeys(settings, clock)

    async def __aenter__(self) -> Self:
        await self._keys.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._keys.__aexit__(exc_type, exc, traceback)

    async def verify(self, token: str) -> Principal:
        """Return the principal of a token.

        Raises:
            UnauthenticatedError: the token was not issued for us, has expired, or is not valid yet.
            UnavailableError: the issuer's keys are needed and cannot be fetched.
        """
        claims = await self._signed_claims(token)
        self._check_times(claims)
        user_id = claims.get(self._settings.user_claim)
        try:
            check_id("user_id", user_id if isinstance(user_id, str) else "")
        except InvalidRequestError:
            _refuse(f"its {self._settings.user_claim!r} is not the id of a user")
        assert isinstance(user_id, str)
        is_admin = self._settings.admin_scope in _names(claims.get(self._settings.scope_claim))
        return Principal(user_id, "admin" if is_admin else "user", actor=user_id)

    async def _signed_claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > _MAX_LENGTH:
            _refuse("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except (PyJWTError, ValueError, RecursionError):
            _refuse("it is no JWT")
        algorithm = header.get("alg")
        if algorithm not in self._settings.algorithms:
            _refuse("its algorithm is not accepted")
        key = await self._keys.find(header.get("kid"), algorithm)
        if key is None:
            _refuse("its key is none of the issuer's")
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                issuer=self._settings.issuer,
                audience=self._settings.audience,
                options={
                    "require": ["exp", "iss", "aud"],
                    "enforce_minimum_key_length": True,
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except jwt.InvalidIssuerError:
            _refuse("it is another issuer's")
        except jwt.InvalidAudienceError:
            _refuse("it is for another audience")
        except (PyJWTError, ValueError, TypeError):
            _refuse("its signature or its form is wrong")
        return claims

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        """Compare with our clock, which PyJWT would not."""
        now, leeway = self._clock.now(), self._settings.leeway_s
        if now >= _time(claims, "exp", now) + leeway:
            _refuse("it has expired")
        if max(_time(claims, "nbf", now), _time(claims, "iat", now)) > now + leeway:
            _refuse("its time has not come yet")


def _refuse(reason: str) -> NoReturn:
    raise UnauthenticatedError(f"The token is not accepted: {reason}.")


def _time(claims: Mapping[str, Any], name: str, default: float) -> float:
    """A claim in seconds since the epoch."""
    value = claims.get(name, default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -_LAST_SECOND < value < _LAST_SECOND:
        _refuse(f"its {name!r} is not a time")
    return float(value)


def _names(claim: object) -> frozenset[str]:
    """The scopes of a claim that is a list, or a text with blanks between them."""
    if isinstance(claim, str):
        return frozenset(claim.split())
    if isinstance(claim, list):
        return frozenset(name for name in claim if isinstance(name, str))
    return frozenset()
