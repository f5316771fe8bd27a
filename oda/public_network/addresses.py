"""Which addresses may be reached; pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from socket import inet_aton

from oda.public_network.errors import AllowanceError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS = frozenset({80, 443, 8080, 8443})

_LOCAL_NAMES = (".localhost", ".local", ".internal", ".home.arpa")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")
"""All that is assigned for the public; NAT64, mapped and local forms lie outside of it."""

_SPECIAL: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by a carrier's customers
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's own services, at a public address
        "169.254.0.0/16",  # this link, and the metadata of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments, among them Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)


def is_public(address: Address) -> bool:
    """Return whether an address is public, and embeds no other address."""
    if isinstance(address, IPv6Address) and (
        address.scope_id is not None or address not in _GLOBAL_UNICAST_V6
    ):
        return False
    return not any(_within(address, network) for network in _SPECIAL)


@dataclass(frozen=True)
class Allowance:
    """An exception: a network on the usual ports, or one place on one port."""

    target: Network | str
    """An address range, or a name, which allows whatever it resolves to."""
    port: int | None = None
    """None: the usual ones."""

    @classmethod
    def parse(cls, text: str) -> "Allowance":
        """Read `10.0.0.0/8`, `10.1.2.3:9000`, `[fd00::1]:9000` or `wiki.example:8000`.

        Raises:
            AllowanceError: the text has none of these forms.
        """
        try:
            return cls(ip_network(text))
        except ValueError:
            pass
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise AllowanceError(f"{text!r} is no place to allow: write a CIDR or host:port")
        try:
            return cls(ip_network(host.removeprefix("[").removesuffix("]")), int(port))
        except ValueError:
            return cls(host.lower().rstrip("."), int(port))

    def covers(self, host: str, address: Address, port: int) -> bool:
        if port not in PORTS if self.port is None else port != self.port:
            return False
        if isinstance(self.target, str):
            return host.lower().rstrip(".") == self.target
        return _within(address, self.target)


class AddressRules:
    """Public addresses on the usual ports, and what the operator allows besides.

    Args:
        allow: Exceptions. They are trusted; they must never come from a page or a model.
        any_port: Whether public addresses may be reached on all ports.
        any_address: Whether everything may be reached.

    Raises:
        AllowanceError: see `Allowance.parse`.
    """

    def __init__(
        self, allow: Iterable[str] = (), *, any_port: bool = False, any_address: bool = False
    ) -> None:
        self._allowances = tuple(Allowance.parse(text) for text in allow)
        self._any_port = any_port
        self._any_address = any_address

    def permit(self, host: str, address: str, port: int) -> bool:
        """Return whether a connection to an address that `host` has resolved to is allowed."""
        if self._any_address:
            return True
        found = ip_address(address)
        if (self._any_port or port in PORTS) and is_public(found):
            return True
        return any(allowance.covers(host, found, port) for allowance in self._allowances)


def is_plainly_private(host: str) -> bool:
    """Return whether a host, as written in a URL, cannot be public whatever a name server says.

    Numbers count in all the ways in which systems read them: `127.1`, `0x7f.1`, `2130706433`.
    """
    name = host.lower().rstrip(".").removeprefix("[").removesuffix("]")
    if name == "localhost" or name.endswith(_LOCAL_NAMES):
        return True
    try:
        return not is_public(ip_address(name))
    except ValueError:
        pass
    if not _NUMBER.fullmatch(name.rpartition(".")[2]):
        return False
    try:
        return not is_public(IPv4Address(inet_aton(name)))
    except OSError:  # no name ends in a number, so nobody can be there
        return True


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
