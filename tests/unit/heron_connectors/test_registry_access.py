"""A schema registry that is away, or asks for a login or TLS: at the start, and in the middle."""

import base64
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from heron_connectors.kafka.schema_registry import RegistryAway
from heron_core.errors import ComponentError
from tests.connectors.fake_registry import FakeRegistry, served
from tests.connectors.messages import message_of
from tests.connectors.runs import Ended
from tests.unit.heron_connectors.registry_support import Client, record, run, spout

LOGIN = "Basic bWU6c2VjcmV0"
"""me:secret"""
FORMATS = ("avro", "protobuf")
in_each_format = pytest.mark.parametrize("kind", FORMATS)


def config(kind: str, field: str) -> dict[str, Any]:
    """Of a record with one text."""
    if kind == "protobuf":
        return {"kafka.value.format": kind, "kafka.value.message": message_of(((field, "string"),))}
    fields = [{"name": field, "type": "string", "default": ""}]
    schema = {"type": "record", "name": "Row", "fields": fields}
    return {"kafka.value.format": kind, "kafka.value.schema": schema}


@in_each_format
def test_a_sink_whose_registry_is_away_is_one_line_with_its_address(
    registry: FakeRegistry, kind: str
) -> None:
    registry.is_away = True
    with pytest.raises(RegistryAway) as caught:
        run(registry, [["x"]], {"a": "string"}, **config(kind, "a"))
    assert str(caught.value) == f"schema registry at {registry.url} answers 503: starting"
    nowhere = {"kafka.schema.registry.url": "http://me:secret@127.0.0.1:1"}
    with pytest.raises(RegistryAway) as caught:
        run(registry, [["x"]], {"a": "string"}, **config(kind, "a"), **nowhere)
    said = str(caught.value)
    assert said.startswith("schema registry at http://127.0.0.1:1 does not answer: ")
    assert "secret" not in said
    assert "\n" not in said


@in_each_format
def test_a_sink_that_has_begun_does_not_need_the_registry(
    registry: FakeRegistry, kind: str
) -> None:
    before = run(registry, [["x"]], {"a": "string"}, **config(kind, "a"))
    asked = registry.asked
    assert run(registry, [["x"]] * 100, {"a": "string"}, **config(kind, "a"))[0] == Ended()
    assert registry.asked - asked == asked, "at the start alone"
    assert before[0] == Ended()


@in_each_format
def test_records_of_a_schema_that_is_new_while_the_registry_is_away_wait_for_it(
    registry: FakeRegistry, client: Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before it are read meanwhile; those behind it come in order."""
    _, ((_, first),) = run(registry, [["x"]], {"a": "string"}, **config(kind, "a"))
    second = with_another_schema(registry, kind, first)
    now = 1000.0
    monkeypatch.setattr("heron_connectors.kafka.spout.time.monotonic", lambda: now)
    data = [first, first, second, first]
    client.records = [record(each, offset=at) for at, each in enumerate(data)]
    with spout(registry, ["a"], **config(kind, "a")) as tester:
        tester.next_tuple()
        registry.is_away = True
        tester.next_tuple(calls=5)
        assert [each.tup_id[2] for each in tester.emitted] == [0, 1]
        registry.is_away = False
        now += 1.0
        tester.next_tuple(calls=5)
        assert [each.tup_id[2] for each in tester.emitted] == [0, 1, 2, 3]
        assert tester.errors == []


def with_another_schema(registry: FakeRegistry, kind: str, data: bytes) -> bytes:
    """The same record, written by another version of its schema."""
    schema = dict(registry.schemas[data[4] - 1])
    if kind == "protobuf":
        file = FileDescriptorProto.FromString(base64.b64decode(schema["schema"]))
        file.message_type.add(name="Later")
        schema["schema"] = base64.b64encode(file.SerializeToString()).decode()
    else:
        schema["schema"] = schema["schema"].replace("{", '{"doc": "later", ', 1)
    number = registry.answer("POST", ["subjects", "later", "versions"], schema)[1]["id"]
    assert number != data[4]
    return data[:4] + bytes([number]) + data[5:]


@in_each_format
def test_a_wrong_password_is_a_line_without_the_password(registry: FakeRegistry, kind: str) -> None:
    registry.authorization = LOGIN
    settings = config(kind, "a")
    right = {"kafka.schema.registry": {"basic.auth.user.info": "me:secret"}}
    assert run(registry, [["x"]], {"a": "string"}, **settings, **right)[0] == Ended()
    wrong = {"kafka.schema.registry": {"basic.auth.user.info": "me:other-word"}}
    with pytest.raises(RegistryAway) as caught:
        run(registry, [["x"]], {"a": "string"}, **settings, **wrong)
    said = str(caught.value)
    assert said == f"schema registry at {registry.url} answers 401: Unauthorized"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that we have signed ourselves for this machine, its key behind it."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[FakeRegistry]:
    """A registry by https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with served(context) as made:
        yield made


def test_a_registry_by_https_is_trusted_by_the_certificate_that_is_said(
    secure: FakeRegistry, certificate: Path
) -> None:
    trusted = {"kafka.schema.registry": {"ssl.ca.location": str(certificate)}}
    assert run(secure, [["x"]], {"a": "string"}, **trusted)[0] == Ended()
    with pytest.raises(RegistryAway, match=r"does not answer: .*certificate verify failed"):
        run(secure, [["x"]], {"a": "string"})
    absent = {"kafka.schema.registry": {"ssl.ca.location": "/nowhere.pem"}}
    with pytest.raises(ComponentError, match="No such file"):
        run(secure, [["x"]], {"a": "string"}, **absent)
