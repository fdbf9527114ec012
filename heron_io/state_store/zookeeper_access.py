"""Credentials of clients of ZooKeeper, and encryption of their connections.

All settings come from environment variables: options and URLs are visible in `ps` and in logs.
"""

import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import UsageError

CREDENTIALS_VARIABLE = "HERONPY_ZOOKEEPER_AUTH"
"""USER:PASSWORD for ZooKeeper's digest scheme."""
SASL_VARIABLE = "HERONPY_ZOOKEEPER_SASL"
"""USER:PASSWORD for SASL with DIGEST-MD5."""
CA_VARIABLE = "HERONPY_ZOOKEEPER_TLS_CA"
"""File with the certificates that sign those of the servers: connections use TLS."""
CERTIFICATE_VARIABLE = "HERONPY_ZOOKEEPER_TLS_CERT"
"""File with the client's certificate, if servers ask for one."""
KEY_VARIABLE = "HERONPY_ZOOKEEPER_TLS_KEY"
"""File with the private key of the certificate."""
ACCESS_VARIABLES = (
    CREDENTIALS_VARIABLE,
    SASL_VARIABLE,
    CA_VARIABLE,
    CERTIFICATE_VARIABLE,
    KEY_VARIABLE,
)
"""Variables for processes on remote hosts as well; the files have to exist on each host."""
PRIVATE_VARIABLES = (CREDENTIALS_VARIABLE, SASL_VARIABLE)
"""With one of these variables, only their owner can read our nodes."""
SASL_EXTRA = "heronpy-topologies[sasl]"


class Access(Struct, frozen=True):
    """Credentials and certificates of a client."""

    credentials: str | None = None
    sasl: str | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @staticmethod
    def of(environment: Mapping[str, str]) -> "Access":
        """The settings in the environment."""
        return Access(*(environment.get(each) or None for each in ACCESS_VARIABLES))

    def client_options(self) -> dict[str, Any]:
        """Arguments of a KazooClient; UsageError in one line for contradicting settings."""
        return {**self._identity(), **self._tls()}

    def _identity(self) -> dict[str, Any]:
        from kazoo.security import make_acl, make_digest_acl

        options: dict[str, Any] = {}
        acls = []
        if self.sasl is not None:
            user, password = _pair(SASL_VARIABLE, self.sasl)
            _check_sasl()
            mechanism = {"mechanism": "DIGEST-MD5", "username": user, "password": password}
            options["sasl_options"] = mechanism
            acls.append(make_acl("sasl", user, all=True))
        if self.credentials is not None:
            user, password = _pair(CREDENTIALS_VARIABLE, self.credentials)
            options["auth_data"] = [("digest", self.credentials)]
            acls.append(make_digest_acl(user, password, all=True))
        return {**options, "default_acl": acls} if acls else options

    def _tls(self) -> dict[str, Any]:
        files = {
            CA_VARIABLE: self.ca,
            CERTIFICATE_VARIABLE: self.certificate,
            KEY_VARIABLE: self.key,
        }
        for name, path in files.items():
            if path is not None and not os.access(path, os.R_OK):
                raise UsageError(f"{name} names {path}, which cannot be read: correct the path")
        if (self.certificate is None) != (self.key is None):
            raise UsageError(f"{CERTIFICATE_VARIABLE} and {KEY_VARIABLE} go together: set both")
        if self.ca is None:
            if self.certificate is not None:
                raise UsageError(
                    f"{CERTIFICATE_VARIABLE} is for TLS: set {CA_VARIABLE} to the file with the "
                    "CA certificates of the servers"
                )
            return {}
        own = {"certfile": self.certificate, "keyfile": self.key} if self.certificate else {}
        return {"use_ssl": True, "ca": self.ca, "check_hostname": True, **own}


def clear_text_warning(url: str, environment: Mapping[str, str]) -> str:
    """Warning for a user whose secrets go to other hosts without TLS; empty if none do."""
    if not url.startswith("zk://") or environment.get(CA_VARIABLE):
        return ""
    servers = url.removeprefix("zk://").partition("/")[0].split(",")
    away = [server for server in servers if not _is_here(server.rpartition(":")[0].strip("[]"))]
    if not away:
        return ""
    what = "the topology's key travels"
    if environment.get(CREDENTIALS_VARIABLE):
        what = "the password and the topology's key travel"
    return (
        f"{what} in clear to ZooKeeper at {', '.join(away)}: set {CA_VARIABLE} (docs/DEPLOY.md, "
        "Security)"
    )


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _pair(variable: str, value: str) -> tuple[str, str]:
    user, colon, password = value.partition(":")
    if not user or not colon:
        raise UsageError(f"{variable} must be USER:PASSWORD")
    return user, password


def _check_sasl() -> None:
    try:
        import puresasl  # noqa: F401
    except ImportError:
        raise UsageError(
            f"{SASL_VARIABLE} needs the package pure-sasl: pip install '{SASL_EXTRA}'"
        ) from None
