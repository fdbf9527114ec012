"""The back end of a cluster with `scheduler: kubernetes`."""

import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import yaml

from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.naming import first_of
from heron_core.placement import Labels, container_labels, topology_labels
from heron_core.plans import MASTER_CONTAINER, PackingPlan, Resource, packing_from_json
from heron_core.state_tree import master_path, packing_path, topology_path
from heron_core.topology import topology_from_json
from heron_core.typed_json import to_json
from heron_core.version import PROTOCOL, VERSION, engine_text
from heron_engine.scheduler.backends.kubernetes import pod_states, render
from heron_engine.scheduler.backends.kubernetes.followed import FollowedObjects
from heron_engine.scheduler.backends.kubernetes.objects import ClusterObjects
from heron_engine.scheduler.backends.kubernetes.pod_start import PodStart
from heron_engine.scheduler.backends.kubernetes.pod_succession import PodReports, PodSuccession
from heron_engine.scheduler.backends.protocol import describe_containers
from heron_engine.scheduler.clusters.config import ClusterConfig
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.container_sizes import CONTAINER_SIZE
from heron_engine.scheduler.packaging.bundle import topmost
from heron_engine.scheduler.packaging.code_folder import CodeFolder
from heron_engine.scheduler.packaging.relocation import FOLDER
from heron_engine.scheduler.packaging.stored_code import packed_code, put_code
from heron_io.kubernetes.access import access_of, namespace_of
from heron_io.kubernetes.client import ApiClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

if TYPE_CHECKING:
    from heron_engine.scheduler.submission import Submission

READY_SECS = 180.0
"""Pods that have to be found room for, an image that has to be pulled, a start on each."""
END_SECS = 60.0
"""Time without an ended pod: 1,000 pods take more on a busy cluster."""
RESTART_SECS = 120.0
SENT_VARIABLES = ("HERONPY_STREAMPARSE",)
STORE_SCHEME = "kubernetes://"


class KubernetesBackend:
    """Every container is a Deployment of one pod."""

    kind = "kubernetes"

    def __init__(self, cluster: ClusterConfig) -> None:
        self._cluster = cluster
        options = cluster.options
        self.ready_secs: float = options.get("ready_secs", READY_SECS)
        self._size: dict[str, float] = {}
        self._reports = PodReports()

    def _options(self) -> render.KubernetesOptions:
        options = self._cluster.options
        master = options.get("master", {})
        sent = [(name, os.environ[name]) for name in SENT_VARIABLES if name in os.environ]
        return render.KubernetesOptions(
            self.namespace,
            options["image"],
            options.get("python", render.PYTHON),
            options.get("service_account"),
            tuple(options.get("node_selector", {}).items()),
            options.get("priority_class"),
            options.get("pull_policy"),
            (*sent, *options.get("environment", {}).items()),
            options.get("environment_secret"),
            options.get("cpu_limits", True),
            Resource(
                float(master.get("cpu", render.MASTER_CPU)),
                master.get("ram", render.MASTER_RAM_BYTES),
                0,
            ),
            self._template(),
        )

    def _template(self) -> Mapping[str, Any]:
        given = self._cluster.options.get("pod_template")
        if given is None:
            return {}
        folder = os.path.dirname(self._cluster.file)
        path = os.path.join(folder, os.path.expanduser(given))
        try:
            with open(path, encoding="utf-8") as file:
                return render.check_template(yaml.safe_load(file), path)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(f"kubernetes: pod_template: {path}: {reason}") from None

    @property
    def code_folder(self) -> CodeFolder | None:
        """Where large archives of code go; None without `code_folder` in the cluster's file."""
        url = self._cluster.options.get("code_folder")
        return None if url is None else CodeFolder(url)

    @property
    def namespace(self) -> str:
        """Namespace of the pods: the state's, if the state is in Kubernetes."""
        url, named = self._cluster.store_url, self._cluster.options.get("namespace")
        if url.startswith(STORE_SCHEME):
            of_state = url.removeprefix(STORE_SCHEME).partition("/")[0]
            if named not in (None, of_state):
                raise UsageError(
                    f"{self._cluster.file}: namespace {named} is not that of the state, "
                    f"{of_state}: the service account of its pods reaches one alone"
                )
            return of_state
        return str(named or namespace_of(os.environ))

    @contextmanager
    def objects(self) -> Iterator[ClusterObjects]:
        """The objects of kubectl's cluster; UsageError without a configuration."""
        objects = ClusterObjects(ApiClient(access_of(os.environ)), self.namespace)
        try:
            yield objects
        finally:
            objects.close()

    def check(self, submission: "Submission") -> None:
        """HeronError in one line without an API server, for existing objects of the name, or if
        pods could not reach the state."""
        problem = self._cluster.store_problem()
        if problem is not None:
            raise HeronError(problem)
        self._options()
        self._size = to_json(render.largest(submission.packing))
        if known := self.known(submission.topology.name):
            with open_store(submission.store_url) as store:
                if store.get(topology_path(submission.topology.name)) is None:
                    raise HeronError(
                        f"{known} are there, and the state store does not know them: choose "
                        "another name with -N, or end them by `heronpy kill "
                        f"{submission.topology.name} --cluster {self._cluster.name}`"
                    )

    def node_fields(self) -> dict[str, Any]:
        """The cluster's name, which locates its file, and the common size of containers: added
        containers get an equal size."""
        return {
            "cluster": self._cluster.name,
            "namespace": self.namespace,
            CONTAINER_SIZE: self._size,
        }

    def describe(self, submission: "Submission") -> str:
        """Containers."""
        return describe_containers(submission)

    def logs(self, submission: "Submission") -> str:
        """Logs are in Kubernetes."""
        wanted = f"{render.TOPOLOGY_LABEL}={render.base_name(submission.topology.name)}"
        return f"`kubectl logs -n {self.namespace} -l {wanted} --prefix`"

    def preview(self, submission: "Submission") -> str:
        """The manifests, without the digests of code that is not packed yet."""
        roots = topmost(submission.topology.search_paths)
        code = tuple((root, f"{FOLDER}/DIGEST-{at}") for at, root in enumerate(roots))
        return render_yaml(self._manifests(submission, code))

    def deploy(self, submission: "Submission") -> None:
        """Write the code into the state store, create the objects, and wait until the pods run;
        HeronError with Kubernetes' reason, and nothing left there, if they do not."""
        name = submission.topology.name
        archives = packed_code(submission.topology.search_paths, self.code_folder)
        with open_store(submission.store_url) as store:
            put_code(store, name, archives, self.code_folder)
        code = tuple((archive.root, archive.path) for archive in archives)
        with self.objects() as objects:
            try:
                for manifest in self._manifests(submission, code):
                    objects.create(manifest)
                start = PodStart(
                    objects,
                    name,
                    1 + len(submission.packing.containers),
                    waits_for_capacity=submission.waits_for_capacity,
                )
                start.wait(submission.ready_secs(self.ready_secs))
            except BaseException:
                self._take_back(objects, name)
                raise

    def _take_back(self, objects: ClusterObjects, name: str) -> None:
        """Remove the objects of a failed `deploy`; a line names remaining objects after a failed
        or interrupted removal."""
        try:
            self._end(objects, name)
        except BaseException as error:
            reason = str(error) or "interrupted"
            print(
                f"objects of {name} are left in {self.namespace} ({reason}): `heronpy kill {name} "
                f"--cluster {self._cluster.name}` removes them",
                file=sys.stderr,
            )
            raise

    def _manifests(
        self, submission: "Submission", code: tuple[tuple[str, str], ...]
    ) -> list[dict[str, Any]]:
        config = keys.with_defaults(submission.topology.config)
        spec = render.PodSpec(
            submission.topology.name,
            submission.store_url,
            keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
            engine_text(VERSION, PROTOCOL),
            code,
        )
        node_labels = {
            MASTER_CONTAINER: topology_labels(config),
            **container_labels(submission.topology, submission.packing),
        }
        return render.manifests(self._options(), spec, submission.packing, node_labels)

    def known(self, name: str) -> str:
        """The Deployments."""
        with self.objects() as objects:
            deployments = objects.listed("Deployment", name)
        names = ", ".join(sorted(each["metadata"]["name"] for each in deployments))
        return f"Kubernetes' deployments {names} in {self.namespace}" if names else ""

    def end(self, name: str) -> None:
        """Remove all objects, and wait until the pods are gone."""
        with self.objects() as objects:
            self._end(objects, name)

    def _end(self, objects: ClusterObjects, name: str) -> None:
        objects.remove_containers(name)
        self._wait_until_gone(objects, name, None)
        objects.remove_account(name)

    def _wait_until_gone(
        self, objects: ClusterObjects, name: str, containers: Sequence[int] | None
    ) -> None:
        pods = FollowedObjects(objects, "Pod", name, containers)
        fewest, ended_at = math.inf, time.monotonic()
        for _ in pods.changes(math.inf):
            if not pods.present:
                return
            if len(pods.present) < fewest:
                fewest, ended_at = len(pods.present), time.monotonic()
            elif time.monotonic() - ended_at > END_SECS:
                break
        raise HeronError(
            f"pods of {name} do not end within {END_SECS:g} s ({first_of(sorted(pods.present))}): "
            "a node may be lost; `kubectl delete pod --force` says that they are gone"
        )

    def restart(self, name: str, container: int | None) -> None:
        """Remove pods, and wait for their successors. The master's node is removed first: the next
        master then starts before the session of the old one ends."""
        if container in (None, MASTER_CONTAINER):
            with open_store(self._cluster.store_url) as store:
                store.delete(master_path(name))
        with self.objects() as objects:
            containers = None if container is None else (container,)
            old = objects.listed("Pod", name, containers)
            wanted = pod_states.numbers_of(objects.listed("Deployment", name, containers))
            if not wanted:
                raise HeronError(f"Kubernetes runs no container {container} of {name}")
            for pod in old:
                objects.remove("Pod", pod["metadata"]["name"])
            PodSuccession(objects, name, containers, old).wait(wanted, RESTART_SECS)

    @property
    def engine(self) -> InstalledEngine:
        """The image of the cluster's file, which has this version of heronpy."""
        return InstalledEngine("", version=VERSION, image=self._options().image)

    def replace_engine(self, name: str, container: int, engine: InstalledEngine) -> InstalledEngine:
        """Change the Deployment, whose pod Kubernetes replaces then. The master's node goes, as in
        a restart."""
        with self.objects() as objects:
            deployments = objects.listed("Deployment", name, (container,))
            if not deployments:
                raise HeronError(f"Kubernetes runs no container {container} of {name}")
            before = render.engine_of(deployments[0])
            if before != engine:
                change = render.with_engine(deployments[0], engine, PROTOCOL)
                objects.patch("Deployment", deployments[0]["metadata"]["name"], change)
                self._reports.forget()
        if container == MASTER_CONTAINER and before != engine:
            with open_store(self._cluster.store_url) as store:
                store.delete(master_path(name))
        return before

    def reserve_capacity(self, store: StateStore, name: str, plan: PackingPlan | None) -> None:
        """Containers keep their size; that the plan's fit was checked."""

    def too_small(self, store: StateStore, name: str, plan: PackingPlan) -> str:
        """No action."""
        return ""

    def waiting(self, store: StateStore, name: str) -> str:
        """Pods that do not run, with Kubernetes' reasons."""
        with self.objects() as objects:
            return self._reports.waiting(objects, name)

    def unstartable(self, name: str, containers: Sequence[int]) -> str:
        """Kubernetes' reason, once a container has failed to start for FAILING_SECS."""
        with self.objects() as objects:
            return self._reports.unstartable(objects, name, containers)

    def scale(self, name: str, added: Sequence[int], removed: Sequence[int]) -> None:
        """Create Deployments like the running ones, or remove some."""
        with self.objects() as objects:
            if added:
                self._add(objects, name, added)
            if removed:
                objects.remove_containers(name, removed)
                self._wait_until_gone(objects, name, removed)

    def _add(self, objects: ClusterObjects, name: str, added: Sequence[int]) -> None:
        numbered = {
            min(pod_states.numbers_of([deployment])): deployment
            for deployment in objects.listed("Deployment", name)
        }
        workers = sorted(numbered.keys() - {MASTER_CONTAINER} - set(added))
        if not workers or MASTER_CONTAINER not in numbered:
            raise HeronError(f"Kubernetes runs no container of {name} that others could be like")
        # The topology master's has the labels of the cluster's file and of the topology alone.
        common = render.node_selector_of(numbered[MASTER_CONTAINER])
        own = self._planned_labels(name)
        try:
            for number in added:
                selector = {**common, **dict(own.get(number, ()))}
                objects.create(render.renumbered(numbered[workers[0]], number, selector))
        except HeronError:
            objects.remove_containers(name, added)
            raise

    def _planned_labels(self, name: str) -> Mapping[int, Labels]:
        """container -> the labels of its node, by the packing plan in the state store."""
        with open_store(self._cluster.store_url) as store:
            topology, packing = store.get(topology_path(name)), store.get(packing_path(name))
        if topology is None or packing is None:
            raise HeronError(f"the state store has no packing plan of {name!r}: has it ended?")
        return container_labels(topology_from_json(topology), packing_from_json(packing))


def render_yaml(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Manifests in kubectl's format."""
    texts = [yaml.dump(dict(each), Dumper=_PlainDumper, sort_keys=False) for each in manifests]
    return "---\n" + "---\n".join(texts).rstrip()


class _PlainDumper(yaml.SafeDumper):
    """Without anchors: people edit manifests."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
