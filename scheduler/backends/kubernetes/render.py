"""A packing plan as manifests of Kubernetes. Pure.

Each container of the plan is a Deployment of one replica; container 0 is the topology master's.
A StatefulSet is not suitable: it removes only the highest ordinals, while an update removes any
container; and after the loss of a node it waits for a confirmation that the pod is gone, while a
Deployment starts a new pod at once. Two simultaneous pods of one container are handled by the
engine's incarnations. Strategy Recreate: on a graceful change the old pod ends before the new
starts.

All containers have the size of the largest, as on Aurora: added containers get an equal size.
"""

import copy
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import UsageError
from heron_core.placement import Labels
from heron_core.plans import MASTER_CONTAINER, MIB, PackingPlan, Resource
from heron_core.records import replace
from heron_core.version import engine_text
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.container.shutdown_timeouts import CONTAINER_SHUTDOWN_SECS

NAME_LABEL, TOPOLOGY_LABEL, CONTAINER_LABEL = (
    "app.kubernetes.io/name",
    "heronpy.io/topology",
    "heronpy.io/container",
)
TOPOLOGY_ANNOTATION = "heronpy.io/topology"
APPLICATION = "heronpy-topology"
CONTAINER_NAME = "heron"
"""Of our container in a pod, also in the pod's template of a user."""
MODULE = "heron_engine.scheduler.backends.kubernetes.container_agent"
PYTHON = "python3"
WORK_FOLDER = "/heron"
"""An emptyDir: logs, sockets and unpacked code, which survive a container of the pod."""
WORK_VOLUME = "heron-work"
HEALTH_PORT, HEALTH_PATH = 8086, "/health"
PROBE = {"httpGet": {"path": HEALTH_PATH, "port": HEALTH_PORT}, "timeoutSeconds": 5}
PROBE_PERIOD_SECS, PROBE_FAILURES_MAX = 10, 3
STARTUP_PERIOD_SECS, STARTUP_FAILURES_MAX = 2, 150
"""Five minutes for a state store that is away and for code that is fetched; `submit` waits for the
success, which Kubernetes notices after one period."""
TERMINATION_SECS = int(CONTAINER_SHUTDOWN_SECS) + 22
NODE_LOST_SECS = 10
"""Eviction time of pods from an unreachable node; Kubernetes' default is five minutes."""
MASTER_RAM_BYTES = 512 * MIB
MASTER_CPU = 0.5
NAME_CHARACTERS_MAX = 40
DIGEST_CHARACTERS = 6
ROLE_RULES = (
    {
        "apiGroups": [""],
        "resources": ["configmaps", "secrets"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "create", "patch", "delete"],
    },
)
"""Rights needed by the state store only: pods never start pods."""
RBAC = "rbac.authorization.k8s.io"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class KubernetesOptions(Struct, frozen=True):
    """Settings of the cluster's file."""

    namespace: str
    image: str
    python: str = PYTHON
    service_account: str | None = None
    """None: a service account of the topology's own, with the required Role."""
    node_selector: tuple[tuple[str, str], ...] = ()
    priority_class: str | None = None
    pull_policy: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    environment_secret: str | None = None
    """A Secret whose keys are variables of each container: credentials of stores and brokers."""
    has_cpu_limits: bool = True
    master: Resource = Resource(MASTER_CPU, MASTER_RAM_BYTES, 0)
    template: Mapping[str, Any] = {}
    """A pod template, overridden by generated fields."""

    def on_nodes(self, node_labels: Labels) -> "KubernetesOptions":
        """The same with labels of a topology or component, which decide over the file's."""
        return replace(
            self, node_selector=tuple({**dict(self.node_selector), **dict(node_labels)}.items())
        )


class PodSpec(Struct, frozen=True):
    """What every container of a topology is started with."""

    topology: str
    store_url: str
    silent_secs: float
    engine: str
    """Required version of the image."""
    code: tuple[tuple[str, str], ...] = ()
    """(folder where the topology was submitted, what its archive is called in plans)"""


def base_name(topology: str) -> str:
    """Of the topology's objects: readable, and another one for each topology."""
    words = _NOT_IN_NAMES.sub("-", topology.lower()).strip("-")
    if words == topology and len(words) <= NAME_CHARACTERS_MAX:
        return f"heron-{words}"
    digest = hashlib.sha256(topology.encode()).hexdigest()[:DIGEST_CHARACTERS]
    readable = words[:NAME_CHARACTERS_MAX].strip("-")
    return "-".join(part for part in ("heron", readable, digest) if part)


def labels(topology: str) -> dict[str, str]:
    """Of all objects of a topology."""
    return {NAME_LABEL: APPLICATION, TOPOLOGY_LABEL: base_name(topology)}


def selector(topology: str, containers: Iterable[int] | None = None) -> str:
    """Label selector of lists and watches: of some containers, or of all objects."""
    wanted = [f"{key}={value}" for key, value in labels(topology).items()]
    if containers is not None:
        wanted.append(f"{CONTAINER_LABEL} in ({','.join(map(str, sorted(containers)))})")
    return ",".join(wanted)


def largest(packing: PackingPlan) -> Resource:
    """What the largest containers need, each resource by itself."""
    sizes = [container.resource for container in packing.containers]
    return Resource(
        max(size.cpu for size in sizes),
        max(size.ram_bytes for size in sizes),
        max(size.disk_bytes for size in sizes),
    )


def manifests(
    options: KubernetesOptions,
    spec: PodSpec,
    packing: PackingPlan,
    node_labels: Mapping[int, Labels] = {},
) -> list[dict[str, Any]]:
    """All objects of a topology, in order of creation. `node_labels`: container
    -> labels required of its node, in addition to the cluster file's."""
    numbers = (MASTER_CONTAINER, *(container.id for container in packing.containers))
    size = largest(packing)
    return [
        *([] if options.service_account else _account(options, spec.topology)),
        *(
            deployment(
                options.on_nodes(node_labels.get(number, ())),
                spec,
                number,
                size if number else options.master,
            )
            for number in numbers
        ),
    ]


def deployment(
    options: KubernetesOptions, spec: PodSpec, number: int, size: Resource
) -> dict[str, Any]:
    """The Deployment of one container."""
    own_labels = {**labels(spec.topology), CONTAINER_LABEL: str(number)}
    template = _template(options, spec, number, size)
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **own_labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            **_metadata(options, f"{base_name(spec.topology)}-{number}", spec.topology),
            "labels": own_labels,
        },
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": own_labels},
            "template": template,
        },
    }


def node_selector_of(running: Mapping[str, Any]) -> dict[str, str]:
    """The labels of the nodes that a Deployment's pods go to."""
    return dict(running["spec"]["template"]["spec"].get("nodeSelector") or {})


def renumbered(
    running: Mapping[str, Any], number: int, node_selector: Mapping[str, str]
) -> dict[str, Any]:
    """A Deployment like a running one, for another container on nodes with other labels: image
    and settings are those of the submission."""
    metadata, spec = running["metadata"], copy.deepcopy(running["spec"])
    old = metadata["labels"][CONTAINER_LABEL]
    if node_selector:
        spec["template"]["spec"]["nodeSelector"] = dict(node_selector)
    else:
        spec["template"]["spec"].pop("nodeSelector", None)
    own_labels = {**metadata["labels"], CONTAINER_LABEL: str(number)}
    spec["selector"]["matchLabels"][CONTAINER_LABEL] = str(number)
    spec["template"]["metadata"]["labels"][CONTAINER_LABEL] = str(number)
    own = _own_container({"spec": spec})
    at = own["args"].index("--container")
    own["args"][at + 1] = str(number)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"{metadata['name'].removesuffix(f'-{old}')}-{number}",
            "namespace": metadata["namespace"],
            "labels": own_labels,
            "annotations": {TOPOLOGY_ANNOTATION: metadata["annotations"][TOPOLOGY_ANNOTATION]},
        },
        "spec": spec,
    }


def engine_of(running: Mapping[str, Any]) -> InstalledEngine:
    """Image and version of a Deployment's container."""
    own = _own_container(running)
    text = own["args"][own["args"].index("--engine") + 1]
    return InstalledEngine("", version=text.split()[1], image=own["image"])


def with_engine(
    running: Mapping[str, Any], engine: InstalledEngine, protocol: int
) -> dict[str, Any]:
    """The change that gives a Deployment's container another image, of another version."""
    args = list(_own_container(running)["args"])
    args[args.index("--engine") + 1] = engine_text(engine.version, protocol)
    own = {"name": CONTAINER_NAME, "image": engine.image, "args": args}
    return {"spec": {"template": {"spec": {"containers": [own]}}}}


def _own_container(running: Mapping[str, Any]) -> dict[str, Any]:
    containers = running["spec"]["template"]["spec"]["containers"]
    return next(each for each in containers if each["name"] == CONTAINER_NAME)


def check_template(template: object, file: str) -> Mapping[str, Any]:
    """A user's pod template; UsageError if invalid."""
    if not isinstance(template, dict) or not isinstance(template.get("spec", {}), dict):
        raise UsageError(f"{file} is no pod's template: it needs a mapping with metadata and spec")
    unknown = template.keys() - {"apiVersion", "kind", "metadata", "spec", "template"}
    if unknown:
        raise UsageError(f"{file}: a pod's template has no {min(unknown)!r}")
    inner = template.get("template", template)
    return {key: inner[key] for key in ("metadata", "spec") if key in inner}


def _template(
    options: KubernetesOptions, spec: PodSpec, number: int, size: Resource
) -> dict[str, Any]:
    template: dict[str, Any] = copy.deepcopy(dict(options.template))
    pod = template.setdefault("spec", {})
    pod.setdefault("terminationGracePeriodSeconds", TERMINATION_SECS)
    pod.setdefault("enableServiceLinks", False)
    pod.setdefault(
        "securityContext", {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    )
    pod["serviceAccountName"] = options.service_account or base_name(spec.topology)
    if options.node_selector:
        pod["nodeSelector"] = {**(pod.get("nodeSelector") or {}), **dict(options.node_selector)}
    if options.priority_class:
        pod["priorityClassName"] = options.priority_class
    pod["tolerations"] = [*(pod.get("tolerations") or ()), *_node_lost()]
    pod["volumes"] = [*(pod.get("volumes") or ()), {"name": WORK_VOLUME, "emptyDir": {}}]
    containers = pod.setdefault("containers", [])
    own = next((each for each in containers if each.get("name") == CONTAINER_NAME), None)
    if own is None:
        own = {"name": CONTAINER_NAME}
        containers.insert(0, own)
    _complete(own, options, spec, number, size)
    return template


def _complete(
    own: dict[str, Any], options: KubernetesOptions, spec: PodSpec, number: int, size: Resource
) -> None:
    """Our container, of which a template may have said something."""
    own.setdefault("image", options.image)
    if options.pull_policy:
        own["imagePullPolicy"] = options.pull_policy
    own["command"] = [options.python, "-m", MODULE]
    own["args"] = _arguments(spec, number)
    own["workingDir"] = WORK_FOLDER
    own["env"] = [*(own.get("env") or ()), *_variables(options)]
    if options.environment_secret:
        secret = {"secretRef": {"name": options.environment_secret}}
        own["envFrom"] = [*(own.get("envFrom") or ()), secret]
    mount = {"name": WORK_VOLUME, "mountPath": WORK_FOLDER}
    own["volumeMounts"] = [*(own.get("volumeMounts") or ()), mount]
    own.setdefault("resources", _resources(size, options.has_cpu_limits))
    own.setdefault(
        "securityContext",
        {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    )
    period = {"periodSeconds": PROBE_PERIOD_SECS}
    startup = {"periodSeconds": STARTUP_PERIOD_SECS, "failureThreshold": STARTUP_FAILURES_MAX}
    own["startupProbe"] = {**PROBE, **startup}
    own["livenessProbe"] = {**PROBE, **period, "failureThreshold": PROBE_FAILURES_MAX}
    own["readinessProbe"] = {**PROBE, **period}


def _arguments(spec: PodSpec, number: int) -> list[str]:
    words = [
        "--engine", spec.engine,
        "--silent-secs", f"{spec.silent_secs:g}",
        "--health-port", str(HEALTH_PORT),
        "--pod-ip", "$(POD_IP)",
        "--",
        "--store", _plain(spec.store_url),
        "--topology", _plain(spec.topology),
        "--container", str(number),
        "--logs", f"{WORK_FOLDER}/logs",
    ]  # fmt: skip
    for root, stored in spec.code:
        words += ["--relocated", _plain(root), stored]
    return words


def _plain(word: str) -> str:
    """Kubernetes replaces $(NAME) in arguments."""
    return word.replace("$(", "$$(")


def _variables(options: KubernetesOptions) -> list[dict[str, Any]]:
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    home = {"name": "HOME", "value": WORK_FOLDER}
    return [address, home, *({"name": key, "value": text} for key, text in options.environment)]


def _resources(size: Resource, has_cpu_limits: bool) -> dict[str, Any]:
    memory, cpu = str(size.ram_bytes), f"{round(size.cpu * 1000)}m"
    limits = {"memory": memory, "cpu": cpu} if has_cpu_limits else {"memory": memory}
    return {"requests": {"memory": memory, "cpu": cpu}, "limits": limits}


def _node_lost() -> list[dict[str, Any]]:
    return [
        {
            "key": f"node.kubernetes.io/{problem}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": NODE_LOST_SECS,
        }
        for problem in ("not-ready", "unreachable")
    ]


def _account(options: KubernetesOptions, topology: str) -> list[dict[str, Any]]:
    """A service account with the rights of the state store."""
    name = base_name(topology)
    metadata = _metadata(options, name, topology)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": options.namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": copy.deepcopy(list(ROLE_RULES)),
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [subject],
        },
    ]


def _metadata(options: KubernetesOptions, name: str, topology: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": options.namespace,
        "labels": labels(topology),
        "annotations": {TOPOLOGY_ANNOTATION: topology},
    }
