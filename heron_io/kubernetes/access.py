"""Address of the API server, and authentication: from a kubeconfig, or a pod's service account.

The rules are kubectl's: the files named in KUBECONFIG, else ~/.kube/config, and in their absence
the account mounted into each pod by Kubernetes.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import yaml
from msgspec import Struct, field

from heron_core.errors import UsageError
from heron_io.kubernetes.credentials import (
    ApiCredentials,
    ExecCredentials,
    FileToken,
    FixedCredentials,
    basic_header,
)

KUBECONFIG_VARIABLE = "KUBECONFIG"
DEFAULT_KUBECONFIG = "~/.kube/config"
HOST_VARIABLE, PORT_VARIABLE = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
HTTPS_PORT, HTTP_PORT = 443, 80


class ApiAccess(Struct, frozen=True):
    """An API server, and the credentials of its client."""

    host: str
    port: int
    prefix: str = ""
    """Of all paths, where a proxy stands before the API server."""
    tls: ssl.SSLContext | None = None
    """None: clear text, as offered locally by `kubectl proxy`."""
    credentials: ApiCredentials = field(default_factory=FixedCredentials)
    server_name: str = ""
    """Name in the server's certificate, if different from `host`."""

    @property
    def address(self) -> str:
        """For people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}{self.prefix}"


def access_of(environment: Mapping[str, str]) -> ApiAccess:
    """The API server used by kubectl; UsageError in one line without a configuration."""
    named = environment.get(KUBECONFIG_VARIABLE)
    paths = [os.path.expanduser(name) for name in (named or DEFAULT_KUBECONFIG).split(os.pathsep)]
    existing = [path for path in paths if path and os.path.exists(path)]
    if existing:
        return _from_files(existing)
    if named:
        raise UsageError(f"{KUBECONFIG_VARIABLE} names {named}, which does not exist")
    host = environment.get(HOST_VARIABLE)
    if not host or not os.path.exists(os.path.join(ACCOUNT_FOLDER, "token")):
        raise UsageError(
            f"no Kubernetes cluster is configured: set {KUBECONFIG_VARIABLE}, or write "
            f"{DEFAULT_KUBECONFIG}"
        )
    tls = ssl.create_default_context(cafile=os.path.join(ACCOUNT_FOLDER, "ca.crt"))
    token = FileToken(os.path.join(ACCOUNT_FOLDER, "token"))
    return ApiAccess(host, int(environment.get(PORT_VARIABLE, HTTPS_PORT)), "", tls, token)


def namespace_of(environment: Mapping[str, str]) -> str:
    """The namespace of the current context, or of the pod; `default` if none is said."""
    named = environment.get(KUBECONFIG_VARIABLE) or DEFAULT_KUBECONFIG
    paths = [os.path.expanduser(name) for name in named.split(os.pathsep)]
    existing = [path for path in paths if path and os.path.exists(path)]
    if existing:
        return str(_Kubeconfig(existing).context.get("namespace") or "default")
    try:
        with open(os.path.join(ACCOUNT_FOLDER, "namespace"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "default"


def _from_files(paths: list[str]) -> ApiAccess:
    config = _Kubeconfig(paths)
    cluster, user = config.cluster, config.user
    url = urlsplit(str(cluster.get("server") or ""))
    if url.scheme not in ("http", "https") or not url.hostname:
        raise UsageError(f"{config.file}: the cluster's server is not an http or https URL")
    if cluster.get("proxy-url"):
        raise UsageError(f"{config.file}: proxy-url is not supported: use `kubectl proxy`")
    is_secure = url.scheme == "https"
    port = url.port or (HTTPS_PORT if is_secure else HTTP_PORT)
    credentials = config.credentials
    tls = _tls(config, cluster, user, credentials) if is_secure else None
    server_name = str(cluster.get("tls-server-name") or "")
    return ApiAccess(url.hostname, port, url.path.rstrip("/"), tls, credentials, server_name)


class _Kubeconfig:
    """The merged files; the first one that says something counts, as for kubectl."""

    def __init__(self, paths: list[str]) -> None:
        self.file = paths[0]
        documents = [(path, _read(path)) for path in paths]
        current = next(
            (str(name) for _, read in documents if (name := read.get("current-context"))), ""
        )
        if not current:
            raise UsageError(
                f"{self.file} has no current-context: choose one with "
                "`kubectl config use-context NAME`"
            )
        self.context = self._named(documents, "contexts", "context", current)
        self.cluster = self._named(
            documents, "clusters", "cluster", str(self.context.get("cluster", ""))
        )
        user = str(self.context.get("user") or "")
        self.user = self._named(documents, "users", "user", user) if user else {}

    def _named(
        self, documents: list[tuple[str, Mapping[str, Any]]], kind: str, key: str, name: str
    ) -> Mapping[str, Any]:
        for path, document in documents:
            for entry in document.get(kind) or ():
                if entry.get("name") == name:
                    self.file = path
                    return entry.get(key) or {}
        raise UsageError(f"{self.file} has no {key} {name!r}: correct its current-context")

    @property
    def credentials(self) -> ApiCredentials:
        """What the user's entry says."""
        user = self.user
        if user.get("exec"):
            return ExecCredentials(user["exec"], self.file)
        if user.get("token"):
            return FixedCredentials(f"Bearer {user['token']}")
        if user.get("tokenFile"):
            return FileToken(self.path(str(user["tokenFile"])))
        if user.get("username"):
            return FixedCredentials(basic_header(user["username"], user.get("password", "")))
        return FixedCredentials()

    def path(self, path: str) -> str:
        """A file named in the kubeconfig, possibly relative to its folder."""
        return os.path.join(os.path.dirname(os.path.abspath(self.file)), path)

    def data(self, section: Mapping[str, Any], key: str) -> bytes | None:
        """The bytes at KEY-data, or of the file at KEY."""
        if encoded := section.get(f"{key}-data"):
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                raise UsageError(f"{self.file}: {key}-data is not base64") from None
        if not section.get(key):
            return None
        path = self.path(str(section[key]))
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise UsageError(f"{self.file}: {key}: {path}: {error.strerror}") from None


def _read(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{path} cannot be read as a kubeconfig: {reason}") from None
    if not isinstance(document, dict):
        raise UsageError(f"{path} is not a kubeconfig: its content is not a mapping")
    return document


def _tls(
    config: _Kubeconfig,
    cluster: Mapping[str, Any],
    user: Mapping[str, Any],
    credentials: ApiCredentials,
) -> ssl.SSLContext:
    authority = config.data(cluster, "certificate-authority")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = credentials.certificate or (
            config.data(user, "client-certificate"),
            config.data(user, "client-key"),
        )
        if certificate and key:
            _load_certificate(context, certificate, key)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise UsageError(f"{config.file}: its certificates cannot be used: {error}") from None
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL takes files alone: both lie in one that is private and goes at once."""
    with tempfile.NamedTemporaryFile() as file:  # mode 0600
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
