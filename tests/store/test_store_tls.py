"""A real ZooKeeper that asks for certificates and for users that it knows (SASL)."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.errors import StateStoreError
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.zookeeper import ZooKeeperStore
from heron_io.state_store.zookeeper_access import Access
from tests.process.process_support import until

USERS = """\
Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required user_ada="first" user_eve="second";
};
"""


class Secured:
    """The server, its address for TLS, and the files of a client."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = str(folder / "cert.pem"), str(folder / "key.pem")
        certificate(folder / "cert.pem", folder / "key.pem")
        store = folder / "store.pem"
        store.write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
        (folder / "users.conf").write_text(USERS)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        settings = {
            "secureClientPort": port,
            "secureClientPortAddress": "127.0.0.1",
            "ssl.keyStore.location": store,
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": self.certificate,
            "ssl.trustStore.type": "PEM",
            "ssl.clientAuth": "need",
            "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        }
        self.server = EmbeddedZooKeeper(
            folder / "zookeeper",
            "".join(f"{key}={value}\n" for key, value in settings.items()),
            (
                "-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                f"-Djava.security.auth.login.config={folder / 'users.conf'}",
            ),
        )

    def tls(self, sasl: str | None = None) -> Access:
        """A client's that shows its certificate."""
        return Access(None, sasl, self.certificate, self.certificate, self.key)


def certificate(certificate: Path, key: Path) -> None:
    """One for 127.0.0.1 that signs itself."""
    openssl = shutil.which("openssl")
    assert openssl is not None, "this test makes a certificate with openssl"
    words = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=here")
    named = ("-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run([openssl, *words, *named, *files], check=True, capture_output=True)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """It runs."""
    made = Secured(tmp_path_factory.mktemp("secured"))
    with made.server:
        yield made


def test_tls_with_a_certificate_on_both_sides(secured: Secured) -> None:
    with ZooKeeperStore(secured.address, "/tls", access=secured.tls()) as store:
        store.put("/keys/words", {"secret": "x"})
        assert store.get("/keys/words") == {"secret": "x"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # kazoo's sockets
def test_a_server_that_nobody_has_signed_for_is_not_trusted(
    secured: Secured, tmp_path: Path
) -> None:
    certificate(tmp_path / "other.pem", tmp_path / "key.pem")
    strangers = (Access(ca=str(tmp_path / "other.pem")), Access(ca=secured.certificate), Access())
    for access in strangers:  # another CA; no certificate of its own; in clear
        with pytest.raises(StateStoreError, match="no ZooKeeper answers at"):
            ZooKeeperStore(secured.address, "/tls", access=access, connect_timeout_ms=1500)


def test_what_a_user_of_sasl_writes_is_for_that_user_alone(secured: Secured) -> None:
    address = secured.address
    with ZooKeeperStore(address, "/sasl", access=secured.tls("ada:first")) as ada:
        ada.put("/keys/words", {"secret": "x"})
        assert ada.get("/keys/words") == {"secret": "x"}
    for access in (secured.tls("eve:second"), secured.tls()):
        with pytest.raises(StateStoreError, match="no permission for /"):
            ZooKeeperStore(address, "/sasl", access=access).get("/keys/words")


def test_a_wrong_password_is_told(secured: Secured) -> None:
    def refusal() -> str:
        try:
            with ZooKeeperStore(
                secured.address, "/sasl", access=secured.tls("ada:wrong"), connect_timeout_ms=3000
            ) as store:
                store.get("/keys/words")
        except StateStoreError as error:
            return str(error)
        return ""

    refused = "refuses the user and password: correct HERONPY_ZOOKEEPER_SASL"
    assert until(refusal, "it is refused").endswith(refused)
