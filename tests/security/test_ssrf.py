"""No address that a caller or the provider gives leads to anything but a public host, however spelled or resolved.

The product's guard runs in a network namespace where private and public addresses are all served and a name server's
answers change between two questions: a hole would show as a request that arrives.
"""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from local.processes import PYTHONPATH, ROOT
from tests.security.network_child import PORT, PUBLIC, PUBLIC_V6

SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.000.000.001",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST",
    "10.0.0.5",
    "167772165",
    "0xa000005",
    "012.0.0.05",
    "100.64.0.5",
    "172.31.0.9",
    "192.168.7.7",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.5]",
    "[::ffff:a9fe:a9fe]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fd00::5]",
    "[fe80::1]",
    "[ff02::1]",
]
NAMES = ["loopback", "lan", "shared", "metadata", "loopback6", "unique6", "mapped", "mixed", "mixed6"]
PRIVATE = [f"http://{host}:{PORT}/x.png" for host in [*SPELLINGS, *(f"{name}.test" for name in NAMES)]]
PRIVATE += ["https://127.0.0.1:8080/x.png", f"http://{PUBLIC}@127.0.0.1:{PORT}/", f"http://127.0.0.1:{PORT}#@{PUBLIC}/"]
ODD = [
    f"http://１２７.0.0.1:{PORT}/x.png",
    f"http://127。0。0。1:{PORT}/x.png",
    f"http://127.0.0.1.:{PORT}/x.png",
    "file:///etc/passwd",
    "ftp://127.0.0.1/x",
    f"gopher://127.0.0.1:{PORT}/_GET",
    "dict://127.0.0.1:11211/stats",
    "jar:http://127.0.0.1!/x",
    "//127.0.0.1/x",
    "http:127.0.0.1",
    "http:/127.0.0.1/x",
    "http:///x",
    "javascript:alert(1)",
    "http://127.0.0.1\\@public.test/",
    "http://pub lic.test/",
    "http://public.test:0/",
]
GIVEN_BY_CALLERS = [*PRIVATE, *ODD]
REDIRECTS = [f"http://public.test:{PORT}/to/{quote(url, safe='')}" for url in GIVEN_BY_CALLERS]
STORES = [f"http://{host}:{PORT}" for host in ("127.0.0.1", "10.0.0.5", "169.254.169.254", "[::1]", "[fd00::5]")]
STORES += [f"http://{name}.test:{PORT}" for name in ("lan", "metadata", "loopback6", "mapped")]

INSIDE = """
ip link set lo up
mount --bind "$0" /etc/resolv.conf
exec "$1" -m tests.security.network_child
"""

type Outcome = tuple[str, str, list[str]]


class Lab:
    """Runs cases in the namespace; each is a way (check, read, open, upload) and an address."""

    def __init__(self, directory: Path) -> None:
        self._resolver = directory / "resolv.conf"
        self._resolver.write_text("nameserver 127.0.0.53\n")

    def tried(self, cases: list[tuple[str, str]]) -> list[Outcome]:
        done = subprocess.run(
            [
                "unshare",
                "--map-root-user",
                "--net",
                "--mount",
                "sh",
                "-ec",
                INSIDE,
                str(self._resolver),
                sys.executable,
            ],
            cwd=ROOT,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": PYTHONPATH},
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, f"needs unshare, ip and the right to make namespaces: {done.stderr[-2000:]}"
        return [(outcome, message, hits) for outcome, message, hits in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize("way", ["check", "read", "open"])
def test_an_address_that_is_not_public_is_refused_and_never_reached(lab: Lab, way: str) -> None:
    outcomes = lab.tried([(way, url) for url in GIVEN_BY_CALLERS])

    for url, (outcome, message, hits) in zip(GIVEN_BY_CALLERS, outcomes, strict=True):
        assert hits == [], f"{way} {url} reached {hits}"
        # A name that does not resolve now passes the first look; that is the third odd one.
        assert outcome != "done" or (way, url) == ("check", ODD[2]), f"{way} {url}: {outcome} {message}"
        assert outcome == "UrlForbidden" or url not in PRIVATE, f"{way} {url}: {outcome} {message}"


def test_a_redirect_to_one_is_followed_no_further(lab: Lab) -> None:
    outcomes = lab.tried([("read", url) for url in REDIRECTS])

    for url, (outcome, message, hits) in zip(REDIRECTS, outcomes, strict=True):
        assert set(hits) == {PUBLIC}, f"{url} reached {hits}"
        assert outcome == "UrlForbidden" or url not in REDIRECTS[: len(PRIVATE)], f"{url}: {outcome} {message}"


def test_public_hosts_are_reached_by_name_and_by_redirect(lab: Lab) -> None:
    urls = [f"http://public.test:{PORT}/x.png", f"http://{PUBLIC}:{PORT}/x.png", f"http://public6.test:{PORT}/x.png"]
    urls.append(f"http://public.test:{PORT}/to/{quote(f'http://[{PUBLIC_V6}]:{PORT}/x.png', safe='')}")

    outcomes = lab.tried([("read", url) for url in urls])

    assert [outcome for outcome, _, _ in outcomes] == ["done"] * 4
    assert [hits for _, _, hits in outcomes] == [[PUBLIC], [PUBLIC], [PUBLIC_V6], [PUBLIC, PUBLIC_V6]]


def test_a_name_that_changes_its_meaning_after_the_check_gains_nothing(lab: Lab) -> None:
    # Given names that stand for a public host at the first question and for loopback from the second on
    cases = [("check", "turns0"), ("read", "turns0"), ("check", "turns1"), ("open", "turns1")]

    outcomes = lab.tried([(way, f"http://{name}.test:{PORT}/x.png") for way, name in cases])

    # Then the check passes, and the fetch after it does not
    assert [outcome for outcome, _, _ in outcomes] == ["done", "UrlForbidden"] * 2
    assert all(hits == [] for _, _, hits in outcomes)


def test_the_address_that_was_checked_is_the_one_connected_to(lab: Lab) -> None:
    outcomes = lab.tried([(way, f"http://turns2.test:{PORT}/x.png") for way in ("read", "read")])

    assert [(outcome, hits) for outcome, _, hits in outcomes] == [("done", [PUBLIC]), ("UrlForbidden", [])]


def test_a_redirect_to_a_name_that_changes_its_meaning_gains_nothing(lab: Lab) -> None:
    target = f"http://turns3.test:{PORT}/x.png"
    outcomes = lab.tried([("check", target), ("read", f"http://public.test:{PORT}/to/{quote(target, safe='')}")])

    assert outcomes[1][0] == "UrlForbidden"
    assert outcomes[1][2] == [PUBLIC]


def test_a_picture_is_not_sent_to_a_private_host_that_the_provider_names(lab: Lab) -> None:
    outcomes = lab.tried([("upload", store) for store in STORES])

    for store, (outcome, message, hits) in zip(STORES, outcomes, strict=True):
        assert (outcome, hits) == ("NotSent", []), f"{store}: {outcome} {message}, reached {hits}"
        assert "HostNotPublic" in message


def test_a_picture_is_sent_to_a_public_host_that_the_provider_names(lab: Lab) -> None:
    [(outcome, message, hits)] = lab.tried([("upload", f"http://public.test:{PORT}")])

    assert outcome == "done", message
    assert [hit.rpartition(" ")[0] for hit in hits] == [f"POST {PUBLIC}"]
