"""ApiCredentials of an API server's client, of which some end and are fetched again."""

import base64
import json
import os
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from heron_core.errors import StateStoreError, UsageError

FILE_SECS = 30.0
"""Rotation of a pod's token: a new file replaces the token before its end; reading the file for
each request would be too expensive."""
EXEC_SECS = 60.0
"""A program that asks a cloud's service for a token, and perhaps a person for a password."""
EXPIRY_MARGIN_SECS = 60.0


class ApiCredentials(Protocol):
    """Headers of each request."""

    @property
    def certificate(self) -> tuple[bytes, bytes] | None:
        """Certificate and private key, if these are credentials of TLS."""

    def header(self) -> str:
        """The value of Authorization; empty without a token."""

    def refuse(self) -> None:
        """The server has rejected the credentials: fetch new ones if possible."""


class FixedCredentials:
    """A permanent token or password, or none."""

    certificate: tuple[bytes, bytes] | None = None

    def __init__(self, header: str = "") -> None:
        self._header = header

    def header(self) -> str:
        """See ApiCredentials."""
        return self._header

    def refuse(self) -> None:
        """Empty: other credentials do not exist."""


class FileToken:
    """The token in a file; the file may be replaced at any time."""

    certificate: tuple[bytes, bytes] | None = None

    def __init__(self, path: str) -> None:
        self._path = path
        self._header = ""
        self._until = float("-inf")

    def header(self) -> str:
        """See ApiCredentials."""
        now = time.monotonic()
        if now >= self._until:
            try:
                with open(self._path, encoding="utf-8") as file:
                    self._header = f"Bearer {file.read().strip()}"
            except (OSError, UnicodeDecodeError) as error:
                raise StateStoreError(
                    f"the token in {self._path} cannot be read: {error}"
                ) from None
            self._until = now + FILE_SECS
        return self._header

    def refuse(self) -> None:
        """See ApiCredentials."""
        self._until = float("-inf")


class ExecCredentials:
    """What a program prints (client.authentication.k8s.io), as clouds' own commands do."""

    def __init__(self, section: Mapping[str, Any], file: str) -> None:
        self._command = [str(section.get("command") or ""), *map(str, section.get("args") or ())]
        self._version = str(section.get("apiVersion") or "client.authentication.k8s.io/v1")
        self._variables = {
            str(pair["name"]): str(pair["value"]) for pair in section.get("env") or ()
        }
        self._file = file
        self._status: Mapping[str, Any] | None = None

    @property
    def certificate(self) -> tuple[bytes, bytes] | None:
        """See ApiCredentials."""
        status = self._fetched()
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        return (certificate.encode(), key.encode()) if certificate and key else None

    def header(self) -> str:
        """See ApiCredentials."""
        token = self._fetched().get("token")
        return f"Bearer {token}" if token else ""

    def refuse(self) -> None:
        """See ApiCredentials."""
        self._status = None

    def _fetched(self) -> Mapping[str, Any]:
        status = self._status
        if status is None or _is_over(status.get("expirationTimestamp")):
            status = self._status = self._run()
        return status

    def _run(self) -> Mapping[str, Any]:
        question = {
            "apiVersion": self._version,
            "kind": "ExecCredential",
            "spec": {"interactive": False},
        }
        variables = {"KUBERNETES_EXEC_INFO": json.dumps(question), **self._variables}
        try:
            done = subprocess.run(
                self._command,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
                timeout=EXEC_SECS,
            )
            status = json.loads(done.stdout)["status"]
        except subprocess.CalledProcessError as error:
            lines = error.stderr.decode(errors="replace").strip().splitlines() or [str(error)]
            raise UsageError(f"{self._command[0]}, of {self._file}: {lines[-1]}") from None
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self._command[0]}, of {self._file}: {error}") from None
        if not isinstance(status, dict):
            raise UsageError(f"{self._command[0]}, of {self._file}, has printed no credentials")
        return status


def basic_header(user: str, password: str) -> str:
    """Authorization by user and password."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _is_over(text: object) -> bool:
    if not isinstance(text, str):
        return False
    return datetime.fromisoformat(text).timestamp() < time.time() + EXPIRY_MARGIN_SECS
