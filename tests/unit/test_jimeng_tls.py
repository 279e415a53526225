"""TLS that breaks: in the handshake nothing was sent, afterwards nobody knows."""

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from jimeng_tasks.exceptions import NotSent, OutcomeUnknown
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.jimeng.connections import new_session
from jimeng_tasks.settings import Settings
from tests.unit.jimeng_server import Behaviour, client, hang_up, reset, submit


@pytest.mark.parametrize("behaviour", [reset, hang_up, lambda peer: peer.sendall(b"HTTP/1.1 400 Bad\r\n\r\n")])
def test_a_broken_handshake_was_surely_not_accepted(behaviour: Behaviour) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                behaviour(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(NotSent):
            submit(client(f"https://127.0.0.1:{listener.getsockname()[1]}"))
        thread.join()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for localhost in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def tls_that_breaks_after_the_request(certificate: Path) -> Iterator[str]:
    """An HTTPS server that reads a request and then sends bytes that are no TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            try:
                secure = context.wrap_socket(peer, server_side=True)
            except (ssl.SSLError, OSError):
                return
            secure.recv(65536)
            bare = socket.socket(fileno=secure.detach())
            with bare:
                bare.sendall(b"this is no TLS record at all")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://localhost:{listener.getsockname()[1]}"
        thread.join()


def test_tls_that_breaks_after_the_request_leaves_the_outcome_unknown(
    tls_that_breaks_after_the_request: str, certificate: Path
) -> None:
    session = new_session([])
    session.trust_env, session.verify = False, str(certificate)
    web = JimengWeb(Settings(jimeng_base_url=tls_that_breaks_after_the_request), session)
    with pytest.raises(OutcomeUnknown):
        submit(web)


def test_a_certificate_nobody_vouches_for_was_surely_not_accepted(tls_that_breaks_after_the_request: str) -> None:
    with pytest.raises(NotSent):
        submit(client(tls_that_breaks_after_the_request))
