"""Tokens of an issuer whose keys come from a real HTTP server."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from oda.errors import ConfigurationError, UnauthenticatedError, UnavailableError
from oda.identity.jwks import FRESH_S, RETRY_S, STALE_S
from oda.identity.principal import Principal
from oda.identity.tokens import Tokens
from oda.settings import JwtSettings, Settings
from oda.testing import FakeClock

NOW = 1_800_000_000
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class Issuer:
    """An HTTP server with documents that a test changes."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.asked: list[str] = []
        self.was_asked = asyncio.Event()
        self.away = False
        self.answering = asyncio.Event()
        self.answering.set()
        self.url = ""

    def offers(self, *keys: Mapping[str, Any], at: str = "/.well-known/jwks.json") -> None:
        self.documents[at] = {"keys": list(keys)}

    def settings(self, **others: Any) -> JwtSettings:
        return JwtSettings(issuer=self.url, audience="oda", **others)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
        self.asked.append(path)
        self.was_asked.set()
        await self.answering.wait()
        body = json.dumps(self.documents.get(path, {})).encode()
        status = "503 Away" if self.away else "200 OK" if path in self.documents else "404 None"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def running(issuer: Issuer) -> AsyncIterator[Issuer]:
    server = await asyncio.start_server(issuer.answer, "127.0.0.1", 0)
    async with server:
        issuer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield issuer


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running(Issuer()) as issuer:
        issuer.offers(jwk(RSA_KEY, "r1"), jwk(EC_KEY, "e1"))
        yield issuer


@pytest.fixture
async def tokens(issuer: Issuer, fake_clock: FakeClock) -> AsyncIterator[Tokens]:
    fake_clock.advance(NOW)
    async with Tokens(issuer.settings(), fake_clock) as tokens:
        yield tokens


def jwk(key: PrivateKey, kid: str | None, **others: Any) -> dict[str, Any]:
    """The public half."""
    if isinstance(key, rsa.RSAPrivateKey):
        known = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        known = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**known, **({"kid": kid} if kid is not None else {}), **others}


def claims(issuer: Issuer, **others: Any) -> dict[str, Any]:
    usual = {"iss": issuer.url, "aud": "oda", "sub": "anna", "exp": NOW + 300, "iat": NOW}
    return {name: value for name, value in {**usual, **others}.items() if value is not ...}


def token(
    issuer: Issuer,
    *,
    key: PrivateKey = RSA_KEY,
    kid: str | None = "r1",
    algorithm: str = "RS256",
    **others: Any,
) -> str:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(issuer, **others), key, algorithm, headers=headers)


def forged(header: Mapping[str, Any], payload: Mapping[str, Any], secret: bytes | None) -> str:
    """A token as no library would make it: unsigned, or signed with HMAC."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in (header, payload)
    ]
    signed = b".".join(parts)
    signature = b"" if secret is None else hmac.digest(secret, signed, hashlib.sha256)
    return b".".join([signed, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


async def refusal(tokens: Tokens, text: str) -> str:
    with pytest.raises(UnauthenticatedError) as refused:
        await tokens.verify(text)
    return refused.value.message


async def test_tokens_with_both_kinds_of_signature_speak_for_their_user(
    tokens: Tokens, issuer: Issuer
) -> None:
    anna = Principal("anna", "user", actor="anna")
    assert await tokens.verify(token(issuer)) == anna
    by_curve = token(issuer, key=EC_KEY, kid="e1", algorithm="ES256")
    assert await tokens.verify(by_curve) == anna
    assert issuer.asked == ["/.well-known/openid-configuration", "/.well-known/jwks.json"]


@pytest.mark.parametrize(
    "scope", ["oda:admin", "read oda:admin write", ["read", "oda:admin"], ["oda:admin", 7]]
)
async def test_the_admin_scope_makes_an_admin(tokens: Tokens, issuer: Issuer, scope: Any) -> None:
    assert (await tokens.verify(token(issuer, scope=scope))).scope == "admin"


@pytest.mark.parametrize("scope", ["", "oda:administrator", ["read"], {"oda:admin": 1}, 7, None])
async def test_nothing_else_makes_an_admin(tokens: Tokens, issuer: Issuer, scope: Any) -> None:
    assert (await tokens.verify(token(issuer, scope=scope))).scope == "user"


async def test_user_and_scope_can_stand_in_other_claims(
    issuer: Issuer, fake_clock: FakeClock
) -> None:
    fake_clock.advance(NOW)
    settings = issuer.settings(user_claim="email", scope_claim="roles", admin_scope="boss")
    async with Tokens(settings, fake_clock) as tokens:
        principal = await tokens.verify(token(issuer, email="a@b.example", roles=["boss"]))
    assert principal == Principal("a@b.example", "admin", actor="a@b.example")


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"iss": "https://evil.example"}, "another issuer's"),
        ({"iss": ...}, "form is wrong"),
        ({"aud": "another"}, "another audience"),
        ({"aud": ["another", "third"]}, "another audience"),
        ({"aud": ...}, "form is wrong"),
        ({"exp": NOW - 30}, "has expired"),
        ({"exp": ...}, "form is wrong"),
        ({"exp": "tomorrow"}, "'exp' is not a time"),
        ({"exp": 10**400}, "'exp' is not a time"),
        ({"exp": float("inf")}, "'exp' is not a time"),
        ({"exp": True}, "'exp' is not a time"),
        ({"nbf": NOW + 31}, "has not come"),
        ({"nbf": "soon"}, "'nbf' is not a time"),
        ({"iat": NOW + 31}, "has not come"),
        ({"sub": ...}, "not the id of a user"),
        ({"sub": ""}, "not the id of a user"),
        ({"sub": "a/b"}, "not the id of a user"),
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(
    tokens: Tokens, issuer: Issuer, others: dict[str, Any], reason: str
) -> None:
    assert reason in await refusal(tokens, token(issuer, **others))


async def test_a_user_that_is_no_text_is_refused(tokens: Tokens, issuer: Issuer) -> None:
    with pytest.raises(UnauthenticatedError):
        await tokens.verify(token(issuer, sub=["anna"]))


async def test_clocks_may_differ_a_little(tokens: Tokens, issuer: Issuer) -> None:
    await tokens.verify(token(issuer, exp=NOW - 29, nbf=NOW + 30, iat=NOW + 30, aud=["x", "oda"]))


async def test_a_token_without_signature_is_refused(tokens: Tokens, issuer: Issuer) -> None:
    for algorithm in ("none", "None", "", None):
        text = forged({"alg": algorithm, "typ": "JWT", "kid": "r1"}, claims(issuer), None)
        assert "algorithm" in await refusal(tokens, text)
    assert issuer.asked == []


async def test_a_token_signed_with_the_public_key_as_a_secret_is_refused(
    tokens: Tokens, issuer: Issuer
) -> None:
    await tokens.verify(token(issuer))
    public = RSA_KEY.public_key()
    pem = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    modulus = jwk(RSA_KEY, None)["n"].encode()
    for secret in (pem, modulus, json.dumps(jwk(RSA_KEY, "r1")).encode()):
        text = forged({"alg": "HS256", "kid": "r1"}, claims(issuer), secret)
        assert "algorithm" in await refusal(tokens, text)


async def test_a_secret_among_the_issuers_keys_is_no_key(tokens: Tokens, issuer: Issuer) -> None:
    secret = base64.urlsafe_b64encode(b"s" * 32).decode()
    issuer.offers({"kty": "oct", "k": secret, "kid": "o1"})
    assert "none of the issuer's" in await refusal(tokens, token(issuer, kid="o1"))


async def test_only_the_pinned_algorithms_are_accepted(tokens: Tokens, issuer: Issuer) -> None:
    assert "algorithm" in await refusal(tokens, token(issuer, algorithm="RS512"))
    assert "algorithm" in await refusal(tokens, token(issuer, algorithm="PS256"))


async def test_a_key_signs_only_with_its_own_algorithm(tokens: Tokens, issuer: Issuer) -> None:
    issuer.offers(jwk(RSA_KEY, "r1", alg="RS512"), jwk(EC_KEY, "e1"), jwk(EC_KEY, "r2", use="enc"))
    for text in (
        token(issuer),
        token(issuer, kid="e1"),
        token(issuer, key=EC_KEY, algorithm="ES256"),
        token(issuer, key=EC_KEY, kid="r2", algorithm="ES256"),
    ):
        await refusal(tokens, text)


async def test_another_key_under_a_known_id_is_refused(tokens: Tokens, issuer: Issuer) -> None:
    assert "signature" in await refusal(tokens, token(issuer, key=OTHER_RSA_KEY))


async def test_keys_in_the_header_of_the_token_are_not_looked_at(
    tokens: Tokens, issuer: Issuer
) -> None:
    async with running(Issuer()) as evil:
        evil.offers(jwk(OTHER_RSA_KEY, "r1"))
        headers = {
            "kid": "r1",
            "jku": f"{evil.url}/.well-known/jwks.json",
            "jwk": jwk(OTHER_RSA_KEY, "r1"),
        }
        text = jwt.encode(claims(issuer), OTHER_RSA_KEY, "RS256", headers=headers)
        assert "signature" in await refusal(tokens, text)
        assert evil.asked == []


@pytest.mark.parametrize(
    "text", ["x", "a.b.c", "..", "é", "x" * 20_000, f"{'W3' * 3000}.e30.x", "eyJhbGciOltdfQ.e30."]
)
async def test_nonsense_is_refused_without_asking_the_issuer(
    tokens: Tokens, issuer: Issuer, text: str
) -> None:
    await refusal(tokens, text)
    assert issuer.asked == []


async def test_without_an_id_the_only_key_counts(tokens: Tokens, issuer: Issuer) -> None:
    issuer.offers(jwk(RSA_KEY, "r1"))
    await tokens.verify(token(issuer, kid=None))


async def test_without_an_id_one_of_several_keys_does_not(tokens: Tokens, issuer: Issuer) -> None:
    assert "none of the issuer's" in await refusal(tokens, token(issuer, kid=None))


async def test_a_rotated_key_is_fetched_when_it_is_first_seen(
    tokens: Tokens, issuer: Issuer, fake_clock: FakeClock
) -> None:
    await tokens.verify(token(issuer))
    issuer.offers(jwk(OTHER_RSA_KEY, "r2"))
    rotated = token(issuer, key=OTHER_RSA_KEY, kid="r2")
    assert "none of the issuer's" in await refusal(tokens, rotated)
    fake_clock.advance(RETRY_S)
    assert (await tokens.verify(rotated)).user_id == "anna"
    assert "none of the issuer's" in await refusal(tokens, token(issuer))


async def test_unknown_ids_ask_the_issuer_only_now_and_then(
    tokens: Tokens, issuer: Issuer, fake_clock: FakeClock
) -> None:
    texts = [token(issuer, kid=f"k{number}") for number in range(20)]
    await asyncio.gather(*(refusal(tokens, text) for text in texts))
    assert issuer.asked.count("/.well-known/jwks.json") == 1
    fake_clock.advance(RETRY_S)
    await asyncio.gather(*(refusal(tokens, text) for text in texts))
    assert issuer.asked.count("/.well-known/jwks.json") == 2


async def test_known_keys_outlive_an_outage_of_the_issuer(
    tokens: Tokens, issuer: Issuer, fake_clock: FakeClock
) -> None:
    await tokens.verify(token(issuer))
    issuer.away = True
    for age in (FRESH_S, STALE_S):
        fake_clock.advance(age)
        exp = fake_clock.now() + 60
        assert (await tokens.verify(token(issuer, exp=exp))).user_id == "anna"
    with pytest.raises(UnavailableError):
        await tokens.verify(token(issuer, kid="r2", exp=exp))


async def test_without_known_keys_an_outage_is_told_and_ends(
    tokens: Tokens, issuer: Issuer, fake_clock: FakeClock
) -> None:
    issuer.away = True
    for _ in range(3):
        with pytest.raises(UnavailableError):
            await tokens.verify(token(issuer))
    assert len(issuer.asked) == 1
    issuer.away = False
    fake_clock.advance(RETRY_S)
    assert (await tokens.verify(token(issuer))).user_id == "anna"


async def test_nobody_listening_is_an_outage_too(fake_clock: FakeClock) -> None:
    fake_clock.advance(NOW)
    async with running(Issuer()) as gone:
        text = token(gone)
    async with Tokens(gone.settings(), fake_clock) as tokens:
        with pytest.raises(UnavailableError):
            await tokens.verify(text)


async def test_a_removed_key_ends_when_the_keys_are_stale(
    tokens: Tokens, issuer: Issuer, fake_clock: FakeClock
) -> None:
    await tokens.verify(token(issuer))
    issuer.offers(jwk(OTHER_RSA_KEY, "r2"))
    fake_clock.advance(STALE_S)
    assert "none of the issuer's" in await refusal(tokens, token(issuer, exp=NOW + 2 * STALE_S))


async def test_an_issuer_that_hangs_holds_up_nobody_whose_key_is_known(
    tokens: Tokens, issuer: Issuer, fake_clock: FakeClock
) -> None:
    await tokens.verify(token(issuer))
    issuer.answering.clear()
    fake_clock.advance(FRESH_S)
    async with asyncio.timeout(2):
        assert (await tokens.verify(token(issuer))).user_id == "anna"


async def test_the_openid_configuration_tells_where_the_keys_are(
    tokens: Tokens, issuer: Issuer
) -> None:
    issuer.offers(jwk(RSA_KEY, "r1"), at="/keys")
    issuer.documents["/.well-known/openid-configuration"] = {
        "issuer": issuer.url,
        "jwks_uri": f"{issuer.url}/keys",
    }
    await tokens.verify(token(issuer))
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


@pytest.mark.parametrize(
    "configuration", [{"issuer": "https://evil.example", "jwks_uri": "x"}, {}, [], {"issuer": ...}]
)
async def test_a_wrong_openid_configuration_is_an_outage(
    tokens: Tokens, issuer: Issuer, configuration: Any
) -> None:
    if configuration == {"issuer": ...}:
        configuration = {"issuer": issuer.url, "jwks_uri": 7}
    issuer.documents["/.well-known/openid-configuration"] = configuration
    with pytest.raises(UnavailableError):
        await tokens.verify(token(issuer))


async def test_a_configured_url_of_the_keys_is_used_alone(
    issuer: Issuer, fake_clock: FakeClock
) -> None:
    fake_clock.advance(NOW)
    issuer.offers(jwk(RSA_KEY, "r1"), at="/mine")
    async with Tokens(issuer.settings(jwks_url=f"{issuer.url}/mine"), fake_clock) as tokens:
        await tokens.verify(token(issuer))
    assert issuer.asked == ["/mine"]


async def test_tokens_can_be_closed_while_they_fetch(issuer: Issuer, fake_clock: FakeClock) -> None:
    fake_clock.advance(NOW)
    issuer.answering.clear()
    async with Tokens(issuer.settings(), fake_clock) as tokens:
        waiting = asyncio.create_task(tokens.verify(token(issuer)))
        await asyncio.wait_for(issuer.was_asked.wait(), 5)
    assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], BaseException)


def test_algorithms_come_from_the_environment_and_never_share_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ODA_JWT__ALGORITHMS", "RS256, PS512")
    assert Settings.load().jwt.algorithms == ("RS256", "PS512")
    for wrong in ("HS256", "none", "RS256,HS256", " "):
        monkeypatch.setenv("ODA_JWT__ALGORITHMS", wrong)
        with pytest.raises(ConfigurationError):
            Settings.load()


def test_an_issuer_needs_an_audience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODA_JWT__ISSUER", "https://issuer.example")
    with pytest.raises(ConfigurationError, match="audience"):
        Settings.load()
