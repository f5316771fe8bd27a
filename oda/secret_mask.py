"""Known secrets are taken out of every text that leaves, by their exact value."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote

MASK = "***"

SHORTEST = 8
"""Shorter values are words that also mean something else; masking them would spoil texts."""

_passing: ContextVar[tuple[str, ...]] = ContextVar("oda_passing_secrets", default=())


class SecretMask:
    """Secrets of a process, as they are and as JSON and URLs write them. Only ever grows."""

    def __init__(self) -> None:
        self._known: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None

    def register(self, *values: str) -> None:
        """Mask these values from now on; empty and short ones are left out."""
        new = {form for value in values for form in _forms(value)}.difference(self._known)
        if new:
            self._known = tuple(sorted({*self._known, *new}, key=len, reverse=True))
            self._pattern = re.compile("|".join(map(re.escape, self._known)))

    @contextmanager
    def during(self, *values: str) -> Iterator[None]:
        """Mask these values inside the block, e.g. those of a request."""
        forms = tuple(form for value in values for form in _forms(value))
        token = _passing.set((*_passing.get(), *forms))
        try:
            yield
        finally:
            _passing.reset(token)

    def mask(self, text: str) -> str:
        """`text` with `***` for each secret."""
        if self._pattern is not None and any(secret in text for secret in self._known):
            text = self._pattern.sub(MASK, text)
        for secret in _passing.get():
            text = text.replace(secret, MASK)
        return text


secrets = SecretMask()
"""The mask of this process."""


def _forms(value: str) -> set[str]:
    if len(value) < SHORTEST:
        return set()
    return {value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe="")}
