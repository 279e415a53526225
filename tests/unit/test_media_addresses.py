"""Which addresses the service goes to, in every spelling."""

import ipaddress
import threading
import time

import pytest

from jimeng_tasks.exceptions import UrlForbidden
from jimeng_tasks.media.addresses import LOOK_UP_SECONDS, checked_url, refuse_private_host, shown
from jimeng_tasks.network import is_public


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_no_internal_or_reserved_address_is_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "101.126.0.1",
        "172.32.0.1",
        "::ffff:8.8.8.8",
        "2606:4700:4700::1111",
        "2400:3200::1",
    ],
)
def test_addresses_of_public_hosts_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://①②⑦.⓪.⓪.①/",
        "http://0/",
        "http://localhost/",
        "http://LOCALHOST/",
        "http://localhost:27017/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:7f00:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/latest/meta-data/iam/",
        "http://2852039166/latest/meta-data/",
        "http://[fd00:ec2::254]/latest/",
        "https://10.0.0.8:6379/",
        "http://" + "a" * 64 + ".example/",
    ],
)
def test_a_private_host_is_refused_in_every_spelling(url: str) -> None:
    with pytest.raises(UrlForbidden):
        refuse_private_host(checked_url(url))


@pytest.mark.parametrize(
    "url", ["https://1.1.1.1/a.png", "http://[2606:4700:4700::1111]:8080/a", "https://nowhere.invalid/a.png"]
)
def test_public_hosts_and_names_that_do_not_resolve_now_pass(url: str) -> None:
    refuse_private_host(checked_url(url))


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "must start with http"),
        ("a.png", "must start with http"),
        ("//example.com/a.png", "must start with http"),
        ("ftp://example.com/a.png", "must start with http"),
        ("file:///etc/passwd", "must start with http"),
        ("gopher://example.com/", "must start with http"),
        ("javascript:alert(1)", "must start with http"),
        ("data:image/png;base64,AAAA", "must start with http"),
        ("http://", "has no host"),
        ("http:///a.png", "has no host"),
        ("https://:443/", "has no host"),
        ("http://user:secret@example.com/", "user name or password"),
        ("http://user@example.com/", "user name or password"),
        ("http://@example.com/", "user name or password"),
        ("http://example.com:0/", "port 0"),
        ("http://example.com:99999/", "malformed"),
        ("http://example.com:http/", "malformed"),
        ("http://[::1/", "malformed"),
        ("http://[fe80::1%25lo]/", "percent sign"),
        ("http://127%2e0%2e0%2e1/", "percent sign"),
        ("http://[not-an-ip]/", "malformed"),
        ("http://exa mple.com/", "spaces"),
        (" http://example.com/", "spaces"),
        ("http://example.com/a\r\nHost: evil", "spaces"),
        ("http://example.com\\@127.0.0.1/", "backslashes"),
        ("http://example.com/\x00", "control"),
    ],
)
def test_a_malformed_address_is_refused_and_says_why(url: str, says: str) -> None:
    with pytest.raises(UrlForbidden, match=says) as caught:
        checked_url(url)

    assert "secret" not in str(caught.value)


def test_what_is_shown_of_an_address_has_no_signature() -> None:
    url = "https://cdn.example.com:8443/a/b.png?X-Amz-Signature=canary&x=1#canary"

    assert shown(url) == "https://cdn.example.com:8443/a/b.png"
    assert len(shown("https://cdn.example.com/" + "a" * 5000)) < 300


def test_a_resolver_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: answered.wait(30))
    began = time.monotonic()

    refuse_private_host(checked_url("https://slow.example.com/a.png"))

    assert time.monotonic() - began < LOOK_UP_SECONDS + 2
    answered.set()
