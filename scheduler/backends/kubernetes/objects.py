"""The objects of topologies in one namespace: created, listed and removed."""

import http
from collections.abc import Callable, Collection, Generator
from typing import Any, TypeVar

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.kubernetes.render import CONTAINER_NAME, selector
from heron_io.kubernetes.client import ApiClient, ApiError, ApiUnanswered
from heron_io.polling import wait_until

COLLECTIONS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Event": "/api/v1/namespaces/{}/events",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}
WORKLOADS = ("Deployment", "ReplicaSet", "Pod")
"""In the order in which they are removed. Kubernetes' controllers remove the latter two as well, as
soon as they have noticed."""
ACCOUNTS = ("RoleBinding", "Role", "ServiceAccount")
DELETE_OPTIONS = {
    "apiVersion": "v1",
    "kind": "DeleteOptions",
    "propagationPolicy": "Background",
}
REMOVAL_SECS, REMOVALS_SECS = 60.0, 240.0
"""One request and its repetitions: an API server removes a collection object by object, 1,000 in
some seconds, or at load in more than the minute that a request may take. A repetition removes the
rest."""
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
NO_LOG = (http.HTTPStatus.BAD_REQUEST, http.HTTPStatus.NOT_FOUND)
"""Answers for a container without a start, or without a previous process."""
ANSWER_SECS = 10.0
"""Retry time for an API server being replaced or overloaded."""
LINE_CHARACTERS_MAX = 300
"""Of a pod's log in an error of one line."""
LAST_LINES = 20
"""Some of the last lines of a log may be empty."""

Result = TypeVar("Result")


class KubernetesRefusal(HeronError):
    """The API server has refused a request, for a reason that a retry does not cure."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class ClusterObjects:
    """Operations on objects; HeronError in one line on failure."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self.namespace = namespace

    def version(self) -> str:
        """The API server's."""
        answer = self._asked("/version", lambda: self._client.get("/version"))
        return f"Kubernetes {answer.get('gitVersion', '')} at {self._client.address}"

    def listed(
        self, kind: str, topology: str, containers: Collection[int] | None = None
    ) -> list[dict[str, Any]]:
        """A topology's objects of a kind, of some containers or of all."""
        return self.listed_at(kind, topology, containers)[0]

    def listed_at(
        self, kind: str, topology: str, containers: Collection[int] | None = None
    ) -> tuple[list[dict[str, Any]], str]:
        """The same, and the version of the list, after which `watched` continues."""
        path, wanted = self._collection(kind), selector(topology, containers)
        answer = self._asked(kind, lambda: self._client.get(path, labelSelector=wanted))
        return list(answer.get("items") or ()), str(answer["metadata"]["resourceVersion"])

    def watched(
        self, kind: str, topology: str, containers: Collection[int] | None, version: str, secs: int
    ) -> Generator[dict[str, Any], None, None]:
        """The changes after a version, for so many seconds. ApiUnanswered if the connection breaks
        or the version is too old: the objects have to be listed again. HeronError if refused."""
        wanted = selector(topology, containers)
        try:
            yield from self._client.watch(
                self._collection(kind),
                labelSelector=wanted,
                resourceVersion=version,
                timeoutSeconds=str(secs),
            )
        except ApiError as error:
            if error.code == http.HTTPStatus.GONE:
                raise ApiUnanswered(str(error)) from None
            raise self._refused(kind, error) from None

    def last_line(self, pod: str) -> str:
        """The last line of a container's log, of the previous process after a restart; empty for
        an empty log."""
        path, lines = f"{self._collection('Pod')}/{pod}/log", str(LAST_LINES)
        for previous in ("true", "false"):
            try:
                text = self._client.text(
                    path, container=CONTAINER_NAME, tailLines=lines, previous=previous
                )
            except ApiUnanswered:
                return ""  # the reason is told without it
            except ApiError as error:
                if error.code in NO_LOG:
                    continue
                return f"(the log of the pod cannot be read: {error})"
            if words := [line.strip() for line in text.splitlines() if line.strip()]:
                return words[-1][:LINE_CHARACTERS_MAX]
        return ""

    def warning(self, uid: str) -> str:
        """The last event of type Warning about a pod; empty without one."""
        path = self._collection("Event")
        chosen = f"involvedObject.uid={uid},type=Warning"
        try:
            answer = self._client.get(path, fieldSelector=chosen)
        except ApiUnanswered:
            return ""  # asked again with the next line
        except ApiError as error:
            return f"the events of the pod cannot be read: {error}"
        events = sorted(answer.get("items") or (), key=_happened_at)
        return f"{events[-1]['reason']}: {events[-1]['message']}" if events else ""

    def create(self, manifest: dict[str, Any]) -> None:
        """Create an object; an existing object is left unchanged."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        path = self._collection(kind)

        def create() -> None:
            try:
                self._client.request("POST", path, manifest)
            except ApiError as error:
                if error.code != http.HTTPStatus.CONFLICT:
                    raise

        self._asked(f"{kind} {name}", create)

    def patch(self, kind: str, name: str, change: dict[str, Any]) -> None:
        """Change an object, lists of named parts by their names."""
        path = f"{self._collection(kind)}/{name}"
        self._asked(
            f"{kind} {name}",
            lambda: self._client.request("PATCH", path, change, content=STRATEGIC_PATCH),
        )

    def remove(self, kind: str, name: str) -> None:
        """Remove an object; a missing object is ignored."""
        path = f"{self._collection(kind)}/{name}"

        def remove() -> None:
            try:
                self._client.request("DELETE", path, DELETE_OPTIONS)
            except ApiError as error:
                if error.code != http.HTTPStatus.NOT_FOUND:
                    raise

        self._asked(f"{kind} {name}", remove)

    def remove_containers(self, topology: str, containers: Collection[int] | None = None) -> None:
        """Some containers, or all; the pods are ending then."""
        for kind in WORKLOADS:
            self.remove_selected(kind, topology, containers)

    def remove_selected(
        self, kind: str, topology: str, containers: Collection[int] | None = None
    ) -> None:
        """All objects of a kind in one request, or one by one without the right to
        `deletecollection`, which some Roles leave out."""
        path, wanted = self._collection(kind), selector(topology, containers)
        try:
            self._asked(
                kind,
                lambda: self._client.request(
                    "DELETE",
                    path,
                    DELETE_OPTIONS,
                    parameters={"labelSelector": wanted},
                    timeout_secs=REMOVAL_SECS,
                ),
                REMOVALS_SECS,
            )
        except KubernetesRefusal as refusal:
            if refusal.code != http.HTTPStatus.FORBIDDEN:
                raise
            for removed in self.listed(kind, topology, containers):
                self.remove(kind, removed["metadata"]["name"])

    def remove_account(self, topology: str) -> None:
        """Rights of the pods, needed until their end."""
        for kind in ACCOUNTS:
            self.remove_selected(kind, topology)

    def close(self) -> None:
        """Break the connections."""
        self._client.close()

    def _collection(self, kind: str) -> str:
        return COLLECTIONS[kind].format(self.namespace)

    def _asked(self, what: str, ask: Callable[[], Result], secs: float = ANSWER_SECS) -> Result:
        """The answer, retried for `secs` while the server does not answer."""
        answers: list[Result] = []
        failures: list[ApiUnanswered] = []

        def has_answer() -> bool:
            try:
                answers.append(ask())
            except ApiUnanswered as error:
                failures.append(error)
            return bool(answers)

        try:
            if wait_until(has_answer, secs):
                return answers[0]
        except ApiError as error:
            raise self._refused(what, error) from None
        raise HeronError(f"{failures[-1]} after {secs:g} s")

    def _refused(self, what: str, error: ApiError) -> "KubernetesRefusal":
        text = f"Kubernetes refuses {what} in {self.namespace}: {error}"
        return KubernetesRefusal(text, error.code)


def _happened_at(event: dict[str, Any]) -> str:
    """When an event was seen last; the API has one of these fields for each way to write events."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")
