"""Session of a process in Kubernetes: a Lease, renewed by the process, as the owner of its nodes.

A session ends when its Lease is removed, and never otherwise. Any process that finds an overdue
Lease removes the Lease if unchanged: so a process that renews at the last moment keeps the Lease,
and a stopped process finds its Lease gone. Ages are measured by the API server's clock, in the
server's answers, never by local clocks. A client without a recent answer removes no Lease: all
Leases are old when an API server comes back.
"""

import http
import secrets
import time
from datetime import UTC, datetime
from typing import Any

from heron_io.kubernetes.client import MERGE_PATCH, ApiClient, ApiError
from heron_io.state_store.kubernetes_objects import MANAGED_LABEL, SESSION_PREFIX

CLOCK_STEP_SECS = 1.0
"""An answer tells whole seconds."""
RENEWALS = 3
"""Renewals in the duration of a session."""


class Leases:
    """The sessions of one namespace, for one process."""

    def __init__(self, client: ApiClient, namespace: str, session_secs: float) -> None:
        self._client = client
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self.session_secs = session_secs

    def begin(self, holder: str) -> tuple[str, str]:
        """Begin a new session; returns name and uid."""
        name = f"{SESSION_PREFIX}{secrets.token_hex(8)}"
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "labels": MANAGED_LABEL},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": max(1, round(self.session_secs)),
                "renewTime": self._now(),
                "acquireTime": self._now(),
            },
        }
        created = self._client.request("POST", self._collection, lease)
        return name, created["metadata"]["uid"]

    def sweep(self) -> None:
        """End all overdue sessions, including unobserved ones."""
        [label] = (f"{key}={value}" for key, value in MANAGED_LABEL.items())
        listed = self._client.get(self._collection, labelSelector=label)
        for lease in listed.get("items") or ():
            self._is_going_on(lease)

    def renew(self, name: str) -> bool:
        """Renew a session; False if the session has ended."""
        change = {"spec": {"renewTime": self._now()}}
        try:
            self._client.request("PATCH", self._path(name), change, content=MERGE_PATCH)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    def end(self, name: str) -> None:
        """End a session, whether or not its process lives."""
        _unless_gone(self._client, self._path(name), {})

    def is_alive(self, name: str) -> bool:
        """Whether a session is alive. An overdue session is removed, to make its end final."""
        try:
            lease = self._client.get(self._path(name))
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            return False
        return self._is_going_on(lease)

    def _is_going_on(self, lease: dict[str, Any]) -> bool:
        if self._silent_secs(lease) <= self._limit_secs(lease) or self._was_away(lease):
            return True
        metadata = lease["metadata"]
        unchanged = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        return not _unless_gone(self._client, self._path(metadata["name"]), unchanged)

    def _silent_secs(self, lease: dict[str, Any]) -> float:
        renewed = datetime.fromisoformat(lease["spec"]["renewTime"]).timestamp()
        return self._client.server_time() - renewed

    @staticmethod
    def _limit_secs(lease: dict[str, Any]) -> float:
        return float(lease["spec"]["leaseDurationSeconds"]) + CLOCK_STEP_SECS

    def _was_away(self, lease: dict[str, Any]) -> bool:
        """Whether the API server may have been unreachable for the holder, as it was for us."""
        return time.monotonic() - self._client.failed_at <= self._limit_secs(lease)

    def _path(self, name: str) -> str:
        return f"{self._collection}/{name}"

    def _now(self) -> str:
        now = datetime.fromtimestamp(self._client.server_time(), UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _unless_gone(client: ApiClient, path: str, preconditions: dict[str, str]) -> bool:
    """Remove an object; False if the object has changed."""
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    try:
        client.request("DELETE", path, options)
    except ApiError as error:
        if error.code == http.HTTPStatus.CONFLICT:
            return False
        if error.code != http.HTTPStatus.NOT_FOUND:
            raise
    return True
