"""Authentication: from a request's credential to its principal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from oda.clock import Clock
from oda.database.database import Database
from oda.errors import ForbiddenError, UnauthenticatedError
from oda.identity.keys import PREFIX, ApiKeys
from oda.identity.principal import DEFAULT_USER, Principal, check_id
from oda.settings import JwtSettings

if TYPE_CHECKING:
    from oda.identity.tokens import Tokens

OPEN_FOR_S = 1.0
"""Time for which an open server relies on there being no keys, in seconds."""

_NO_KEYS = (
    "This server has no API keys, so it serves only programs of its own machine; this request "
    "came through a proxy, from another machine or for another host name."
)
_MAKE_A_KEY = (
    "create a key with `oda keys create --user NAME` and send it as `Authorization: Bearer …`, "
    "or start the server with --insecure if everybody may use it"
)


class Authenticator:
    """Authenticates requests.

    A server is open, i.e. needs no credentials, only if its settings allow it, it has no token
    issuer, and its database has never had a key. The first key closes it for good.
    """

    def __init__(
        self, keys: ApiKeys, tokens: "Tokens | None", clock: Clock, *, may_be_open: bool
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._clock = clock
        self._closed = tokens is not None or not may_be_open
        self._open_since: float | None = None
        self._looking = asyncio.Lock()

    async def authenticate(
        self, authorization: str | None, user: str | None, *, from_elsewhere: bool = False
    ) -> Principal:
        """Return the principal of a request.

        Args:
            authorization: The header `Authorization`.
            user: The header `X-Oda-User`: whom an admin acts for, or the user of an open server.
            from_elsewhere: Whether the request may come from outside of what an open server serves.

        Raises:
            UnauthenticatedError: there is no credential, or it is invalid.
            ForbiddenError: the caller is not an admin and acts for another user.
            InvalidRequestError: `user` is not a valid user id.
            UnavailableError: the issuer's keys cannot be fetched.
            SQLAlchemyError: the database cannot be reached.
        """
        credential = _bearer(authorization)
        if not self._closed and await self._is_open(credential):
            if from_elsewhere:
                raise UnauthenticatedError(_NO_KEYS, remedy=_MAKE_A_KEY)
            return _open_principal(DEFAULT_USER if user is None else user)
        if credential is None:
            raise UnauthenticatedError(
                "Nobody knows who asks.",
                remedy="send an API key or a token as `Authorization: Bearer …`",
            )
        principal = await self._principal(credential)
        if user is None or user == principal.user_id:
            return principal
        if not principal.is_admin:
            raise ForbiddenError(
                "Only an admin may act for another user.", remedy="leave X-Oda-User out"
            )
        check_id("user_id", user)
        return Principal(user, principal.scope, principal.actor, principal.key_id)

    async def _principal(self, credential: str) -> Principal:
        if credential.startswith(PREFIX):
            principal = await self._keys.verify(credential)
            if principal is None:
                raise UnauthenticatedError("The API key is not valid.")
            return principal
        if self._tokens is None:
            raise UnauthenticatedError("The credential is no API key, and no token is accepted.")
        return await self._tokens.verify(credential)

    async def _is_open(self, credential: str | None) -> bool:
        """Return whether there is no key yet.

        Look at once if a credential is sent, as a key may be new.
        """
        sends_key = credential is not None and credential.startswith(PREFIX)
        if self._known_to_be_open() and not sends_key:
            return True
        async with self._looking:
            if sends_key or not (self._closed or self._known_to_be_open()):
                now = self._clock.now()
                self._closed = self._closed or await self._keys.any_configured()
                self._open_since = now
        return not self._closed

    def _known_to_be_open(self) -> bool:
        since = self._open_since
        return since is not None and 0 <= self._clock.now() - since < OPEN_FOR_S


@asynccontextmanager
async def open_authenticator(
    database: Database, settings: JwtSettings, clock: Clock, *, may_be_open: bool
) -> AsyncIterator[Authenticator]:
    """An authenticator over the keys of a database and the issuer of the settings.

    Args:
        may_be_open: Whether a server without keys may serve everybody.
    """
    keys = ApiKeys(database, clock)
    if settings.issuer is None:
        yield Authenticator(keys, None, clock, may_be_open=may_be_open)
        return
    from oda.identity.tokens import Tokens  # 11 MB of cryptography

    async with Tokens(settings, clock) as tokens:
        yield Authenticator(keys, tokens, clock, may_be_open=may_be_open)


@lru_cache(maxsize=1024)
def _open_principal(user: str) -> Principal:
    check_id("user_id", user)
    return Principal(user, "admin", actor=user, proven=False)


def _bearer(authorization: str | None) -> str | None:
    """The credential of a header; None when it is of another scheme."""
    scheme, _, credential = (authorization or "").partition(" ")
    credential = credential.strip()
    return credential if scheme.lower() == "bearer" and credential else None
