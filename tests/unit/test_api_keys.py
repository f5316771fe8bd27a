"""API keys on SQLite and PostgreSQL, and the door that they close."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.database.schema import api_keys
from oda.errors import ForbiddenError, InvalidRequestError, NotFoundError, UnauthenticatedError
from oda.identity.authenticator import OPEN_FOR_S, Authenticator
from oda.identity.keys import ApiKeys
from oda.identity.principal import Principal, check_id
from oda.testing import FakeClock


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    url = (
        f"sqlite:///{tmp_path / 'oda.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    async with open_database(url) as database:
        await upgrade(database.engine)
        with database.engine.begin() as connection:
            connection.execute(delete(api_keys))
        yield database


@pytest.fixture
def keys(database: Database, fake_clock: FakeClock) -> ApiKeys:
    fake_clock.advance(1_800_000_000)
    return ApiKeys(database, fake_clock)


async def test_a_key_speaks_for_its_user_with_its_scope(keys: ApiKeys) -> None:
    key, text = await keys.create("anna", "admin", "for the bot")
    assert await keys.verify(text) == Principal("anna", "admin", "anna", key.key_id)
    assert (key.user_id, key.scope, key.note) == ("anna", "admin", "for the bot")
    assert text.startswith(f"oda_{key.key_id}_")


async def test_keys_are_long_and_never_the_same(keys: ApiKeys) -> None:
    texts = {(await keys.create("anna", "user"))[1] for _ in range(50)}
    secrets = {text.split("_", 2)[2] for text in texts}
    assert len(secrets) == 50
    assert {len(secret) for secret in secrets} == {43}


async def test_the_secret_is_nowhere_in_the_database(keys: ApiKeys, database: Database) -> None:
    _, text = await keys.create("anna", "user")
    with database.engine.connect() as connection:
        (row,) = connection.execute(select(api_keys)).all()
    assert text.split("_", 2)[2] not in str(row)
    assert len(row.digest) == 64


async def test_another_secret_or_another_form_is_no_key(keys: ApiKeys) -> None:
    key, text = await keys.create("anna", "user")
    _, other = await keys.create("bert", "user")
    foreign_secret = f"oda_{key.key_id}_{other.split('_', 2)[2]}"
    unknown_id = f"oda_{'0' * 16}_{text.split('_', 2)[2]}"
    for wrong in (foreign_secret, unknown_id, text[:-1], text + "A", f" {text}", text + "\n", ""):
        assert await keys.verify(wrong) is None


async def test_a_revoked_key_ends_at_once_and_keeps_its_time(
    keys: ApiKeys, fake_clock: FakeClock
) -> None:
    key, text = await keys.create("anna", "user")
    revoked = await keys.revoke(key.key_id)
    assert await keys.verify(text) is None
    fake_clock.advance(60)
    assert await keys.revoke(key.key_id) == revoked
    assert revoked == replace(key, revoked_at=revoked.revoked_at)
    with pytest.raises(NotFoundError):
        await keys.revoke("nobody")


async def test_a_key_ends_when_its_time_is_over(keys: ApiKeys, fake_clock: FakeClock) -> None:
    _, text = await keys.create("anna", "user", expires_in=timedelta(days=1))
    fake_clock.advance(86_399)
    assert await keys.verify(text) is not None
    fake_clock.advance(1)
    assert await keys.verify(text) is None


async def test_keys_are_listed_oldest_first_with_those_that_have_ended(
    keys: ApiKeys, fake_clock: FakeClock
) -> None:
    first, _ = await keys.create("anna", "user")
    fake_clock.advance(1)
    second, _ = await keys.create("bert", "admin", expires_in=timedelta(days=2))
    ended = await keys.revoke(first.key_id)
    assert await keys.list() == [ended, second]


@pytest.mark.parametrize("user", ["", " anna", "a/b", "a\nb", "x" * 129])
async def test_a_user_that_no_session_could_have_gets_no_key(keys: ApiKeys, user: str) -> None:
    with pytest.raises(InvalidRequestError):
        await keys.create(user, "user")
    assert await keys.any_configured() is False


@pytest.mark.parametrize("days", [0, -1, 10**7])
async def test_a_time_that_makes_no_sense_is_refused(keys: ApiKeys, days: int) -> None:
    with pytest.raises(InvalidRequestError):
        await keys.create("anna", "user", expires_in=timedelta(days=days))


async def test_revoking_the_last_key_opens_nothing(keys: ApiKeys, fake_clock: FakeClock) -> None:
    key, _ = await keys.create("anna", "user")
    await keys.revoke(key.key_id)
    assert await keys.any_configured() is True
    door = Authenticator(keys, None, fake_clock, may_be_open=True)
    with pytest.raises(UnauthenticatedError):
        await door.authenticate(None, None)


async def test_without_any_key_an_open_door_believes_the_header(
    keys: ApiKeys, fake_clock: FakeClock
) -> None:
    door = Authenticator(keys, None, fake_clock, may_be_open=True)
    nobody = await door.authenticate(None, None)
    assert nobody == Principal("local", "admin", "local", proven=False)
    anna = await door.authenticate("Bearer none-of-ours", "anna")
    assert anna == Principal("anna", "admin", "anna", proven=False)
    with pytest.raises(InvalidRequestError):
        await door.authenticate(None, "a/b")


async def test_a_door_that_may_not_be_open_never_is(keys: ApiKeys, fake_clock: FakeClock) -> None:
    door = Authenticator(keys, None, fake_clock, may_be_open=False)
    with pytest.raises(UnauthenticatedError):
        await door.authenticate(None, "anna")


async def test_the_first_key_closes_the_door_within_a_second_and_for_good(
    keys: ApiKeys, fake_clock: FakeClock, database: Database
) -> None:
    door = Authenticator(keys, None, fake_clock, may_be_open=True)
    await door.authenticate(None, None)
    await keys.create("anna", "user")
    fake_clock.advance(OPEN_FOR_S)
    for _ in range(2):
        with pytest.raises(UnauthenticatedError):
            await door.authenticate(None, None)
        with database.engine.begin() as connection:
            connection.execute(delete(api_keys))
        fake_clock.advance(OPEN_FOR_S)


async def test_whoever_sends_the_first_key_is_known_at_once(
    keys: ApiKeys, fake_clock: FakeClock
) -> None:
    door = Authenticator(keys, None, fake_clock, may_be_open=True)
    await door.authenticate(None, None)
    _, text = await keys.create("anna", "user")
    many = await asyncio.gather(*(door.authenticate(f"Bearer {text}", None) for _ in range(20)))
    assert {principal.user_id for principal in many} == {"anna"}


async def test_only_an_admin_acts_for_another(keys: ApiKeys, fake_clock: FakeClock) -> None:
    admin, admin_text = await keys.create("root", "admin")
    user, user_text = await keys.create("anna", "user")
    door = Authenticator(keys, None, fake_clock, may_be_open=True)
    assert await door.authenticate(f"Bearer {admin_text}", "anna") == Principal(
        "anna", "admin", actor="root", key_id=admin.key_id
    )
    assert await door.authenticate(f"bearer  {user_text}", "anna") == Principal(
        "anna", "user", actor="anna", key_id=user.key_id
    )
    with pytest.raises(ForbiddenError):
        await door.authenticate(f"Bearer {user_text}", "root")
    with pytest.raises(InvalidRequestError):
        await door.authenticate(f"Bearer {admin_text}", "a/b")


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Basic {}", "{}", "Bearer x{}", ""])
async def test_no_other_header_is_a_credential(
    keys: ApiKeys, fake_clock: FakeClock, header: str
) -> None:
    _, text = await keys.create("anna", "user")
    door = Authenticator(keys, None, fake_clock, may_be_open=True)
    with pytest.raises(UnauthenticatedError):
        await door.authenticate(header.format(text), None)


@given(st.text(max_size=140))
def test_an_id_is_printable_has_no_slash_and_fits_the_tables(text: str) -> None:
    allowed = (
        0 < len(text) <= 128 and text.isprintable() and "/" not in text and text == text.strip()
    )
    try:
        check_id("user_id", text)
    except InvalidRequestError:
        assert not allowed
    else:
        assert allowed
