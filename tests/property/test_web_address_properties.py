"""No spelling of an address that is not public gets past the guard of `mcp_tools.web`."""

import asyncio
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.web.errors import UrlRefusedError
from mcp_tools.web.urls import parse_url
from oda.public_network.addresses import AddressRules, is_public
from oda.public_network.connection import GuardedNetwork, resolve
from oda.public_network.errors import AddressNotAllowedError, UnknownHostError

INSIDE = st.sampled_from(
    ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "0.0.0.0/8"]
).flatmap(lambda network: st.ip_addresses(network=network))

SPELLINGS: list[Callable[[int], str]] = [
    lambda n: str(IPv4Address(n)),
    lambda n: f"{IPv4Address(n)}.",
    str,
    hex,
    lambda n: f"0{n:o}",
    lambda n: f"{n >> 24}.{n & 0xFFFFFF}",
    lambda n: f"{n >> 24}.{n >> 16 & 255}.{n & 0xFFFF}",
    lambda n: ".".join(hex(n >> shift & 255) for shift in (24, 16, 8, 0)),
    lambda n: ".".join(f"0{n >> shift & 255:o}" for shift in (24, 16, 8, 0)),
    lambda n: "。".join(str(n >> shift & 255) for shift in (24, 16, 8, 0)),
    lambda n: f"[::ffff:{IPv4Address(n)}]",
    lambda n: f"[::ffff:{n >> 16:x}:{n & 0xFFFF:x}]",
    lambda n: f"[::{IPv4Address(n)}]",
    lambda n: f"[64:ff9b::{n >> 16:x}:{n & 0xFFFF:x}]",
    lambda n: f"[2002:{n >> 16:x}:{n & 0xFFFF:x}::1]",
    lambda n: f"[2001:0:101:101::{n >> 16 ^ 0xFFFF:x}:{n & 0xFFFF ^ 0xFFFF:x}]",
]


@given(INSIDE, st.sampled_from(SPELLINGS), st.sampled_from(["http", "https"]))
def test_no_spelling_of_an_inner_address_is_reached(
    address: IPv4Address, spell: Callable[[int], str], scheme: str
) -> None:
    network = GuardedNetwork(AddressRules(), resolve=resolve, connect_s=1)

    async def reach() -> None:
        url = parse_url(f"{scheme}://{spell(int(address))}/")
        await network.connect_tcp(url.raw_host.decode(), 80)

    with pytest.raises((UrlRefusedError, AddressNotAllowedError, UnknownHostError)):
        asyncio.run(reach())


@given(st.ip_addresses())
def test_what_is_public_here_is_public_to_the_standard_library(
    address: IPv4Address | IPv6Address,
) -> None:
    if is_public(address):
        assert address.is_global
        assert not (address.is_multicast or address.is_reserved or address.is_link_local)
        if isinstance(address, IPv6Address):
            assert not (address.ipv4_mapped or address.sixtofour or address.teredo)


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.sampled_from(["", "http://", "//"]))
def test_a_url_is_refused_or_read_the_same_way_twice(text: str, before: str) -> None:
    try:
        url = parse_url(before + text)
    except UrlRefusedError:
        return
    assert parse_url(str(url)) == url
    assert url.scheme in ("http", "https")
    assert not url.userinfo
    assert url.raw_host


def test_the_system_reads_numbers_as_addresses() -> None:
    """Which is why the guard looks at what a host resolves to, and not at how it is written."""
    (found,) = asyncio.run(resolve("2130706433", 80))
    assert ip_address(found).is_loopback
