"""Which addresses and URLs `mcp_tools.web` accepts."""

from ipaddress import ip_address

import pytest

from mcp_tools.web.errors import UrlRefusedError
from mcp_tools.web.urls import join_url, parse_url
from oda.public_network.addresses import AddressRules, is_plainly_private, is_public
from oda.public_network.errors import AllowanceError


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"],
)
def test_the_public_web_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "::1"),
        *("0.0.0.0", "0.1.2.3", "::"),
        *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1"),
        *("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
        *("169.254.0.1", "fe80::1", "fe80::1%1", "2606:4700::1111%1"),
        *("100.64.0.1", "100.127.255.255"),
        *("224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"),
        *("240.0.0.1", "255.255.255.255", "192.88.99.1", "198.18.0.1", "fec0::1", "100::1"),
        *("192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"),
        *("::ffff:127.0.0.1", "::ffff:1.1.1.1", "::127.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::101:101", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2002:101:101::1"),
        *("2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    ],
)
def test_everything_else_is_not(address: str) -> None:
    assert not is_public(ip_address(address))


def test_only_the_usual_ports_are_open() -> None:
    rules = AddressRules()
    allowed = [port for port in range(1, 2**16) if rules.permit("a.example", "1.1.1.1", port)]
    assert allowed == [80, 443, 8080, 8443]


@pytest.mark.parametrize(
    ("allow", "host", "address", "port", "permitted"),
    [
        ("127.0.0.1:9000", "localhost", "127.0.0.1", 9000, True),
        ("127.0.0.1:9000", "localhost", "127.0.0.1", 80, False),
        ("127.0.0.1:9000", "localhost", "127.0.0.2", 9000, False),
        ("127.0.0.1:9000", "localhost", "::ffff:127.0.0.1", 9000, False),
        ("10.0.0.0/8", "wiki", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "wiki", "10.1.2.3", 22, False),
        ("10.0.0.0/8", "wiki", "192.168.0.1", 80, False),
        ("[fd00::1]:9000", "wiki", "fd00::1", 9000, True),
        ("Wiki.Example:9000", "wiki.example.", "10.9.9.9", 9000, True),
        ("wiki.example:9000", "evil.example", "10.9.9.9", 9000, False),
    ],
)
def test_an_exception_covers_what_it_names(
    allow: str, host: str, address: str, port: int, permitted: bool
) -> None:
    assert AddressRules([allow]).permit(host, address, port) is permitted


@pytest.mark.parametrize("text", ["wiki.example", "wiki:http", ":80", "wiki:0", "wiki:70000", "*"])
def test_an_exception_that_names_no_place_is_refused(text: str) -> None:
    with pytest.raises(AllowanceError, match="CIDR or host:port"):
        AddressRules([text])


@pytest.mark.parametrize(
    ("host", "private"),
    [
        *((host, True) for host in ("127.0.0.1", "[::1]", "10.1", "0x7f.1", "2130706433", "0")),
        *((host, True) for host in ("LOCALHOST.", "a.localhost", "db.internal", "999.1")),
        *((host, False) for host in ("1.1.1.1", "[2606:4700::1111]", "example.org", "1.example")),
    ],
)
def test_a_host_that_is_plainly_private_is_known(host: str, private: bool) -> None:
    assert is_plainly_private(host) is private


def test_rules_may_allow_all_ports_or_all_addresses() -> None:
    assert AddressRules(any_port=True).permit("a.example", "1.1.1.1", 9000)
    assert not AddressRules(any_port=True).permit("a.example", "127.0.0.1", 80)
    assert AddressRules(any_address=True).permit("a.example", "127.0.0.1", 9000)


@pytest.mark.parametrize(
    "text",
    [
        *("", "page", "//a.example/", "http:", "http://", "http:///path", "http:/a.example"),
        *("ftp://a.example/", "file:///etc/passwd", "gopher://a.example/", "data:text/html,x"),
        *("javascript:alert(1)", "http://a.example:port/", "http://a.example:-1/"),
        *("http://user@a.example/", "http://user:pass@a.example/", "http://@a.example/"),
        *("http://1.1.1.1@127.0.0.1/", "http://a.example:80@127.0.0.1/"),
        *("http://1.1.1.1\\@127.0.0.1/", "http://a.example\\.evil.example/"),
        *(
            "http://a b.example/",
            "http://a.example/\nx",
            "http://a.example/ x",
            "http://a\t.example/",
        ),
        *(
            "http://a%2eexample/",
            "http://a\u0000.example/",
            "http://[::1/",
            "http://[fe80::1%25lo]/",
        ),
        *("http://１２７.0.0.1/", "http://0177.0.0.1/", "http://ⓛocalhost/"),
        f"http://a.example/{'x' * 2000}",
    ],
)
def test_a_url_that_is_not_plain_is_refused(text: str) -> None:
    with pytest.raises(UrlRefusedError):
        parse_url(text)


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        (" HTTP://A.Example:80/b/../c?q=1#part ", "http://a.example/c?q=1"),
        ("https://a.example:443", "https://a.example/"),
        ("http://龙井.中国/茶", "http://xn--elqz88q.xn--fiqs8s/%E8%8C%B6"),
        ("http://a.example/x@y?to=user@b.example", "http://a.example/x@y?to=user@b.example"),
    ],
)
def test_a_url_is_normalised(text: str, normalised: str) -> None:
    assert str(parse_url(text)) == normalised


def test_a_redirect_is_read_like_a_url() -> None:
    base = parse_url("https://a.example/b/c")
    assert str(join_url(base, "../d")) == "https://a.example/d"
    assert str(join_url(base, "//b.example/x")) == "https://b.example/x"
    for location in ("file:///etc/passwd", "http://u@b.example/", "//u@b.example", "http://[/"):
        with pytest.raises(UrlRefusedError):
            join_url(base, location)
