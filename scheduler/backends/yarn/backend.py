"""The back end of a cluster with `scheduler: yarn`."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import HeronError, NameInUse
from heron_core.plans import MASTER_CONTAINER, MIB, PackingPlan
from heron_core.records import replace
from heron_core.state_tree import master_path
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.protocol import describe_containers
from heron_engine.scheduler.backends.yarn import render, requests
from heron_engine.scheduler.backends.yarn.client import Client, Report, check_queue
from heron_engine.scheduler.backends.yarn.configuration import conf_folder
from heron_engine.scheduler.backends.yarn.diagnostics import Capacity, capacity_shortage
from heron_engine.scheduler.backends.yarn.events import Ask
from heron_engine.scheduler.backends.yarn.jvm import own_jars, own_py4j
from heron_engine.scheduler.backends.yarn.partitions import partitions
from heron_engine.scheduler.backends.yarn.staging import Staging, check_size
from heron_engine.scheduler.clusters.config import ClusterConfig
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.own_nodes import WAITING
from heron_engine.scheduler.packaging.archive import this_python
from heron_engine.scheduler.packaging.bundle import bundled, topmost
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper_access import ACCESS_VARIABLES

if TYPE_CHECKING:
    from heron_engine.scheduler.submission import Submission

READY_SECS = 180.0
"""Containers that have to be found room for, files that have to be fetched, a start on each."""
REPORT_SECS = 10.0
"""Interval of progress lines of `submit`."""
CURES = (
    "wait for room (--wait-for-room, or yarn: ready_secs), use another queue, or ask for less (-w, "
    "topology.container.ram)"
)
END_SECS = 30.0
"""An application master ends its containers within 15 s."""
RESTART_SECS = 120.0
POLL_SECS = 0.3
SENT_VARIABLES = ("HERONPY_STREAMPARSE",)


class YarnBackend:
    """An application master with the topology master, and a container of YARN's for each other
    container of the packing plan."""

    kind = "yarn"
    code_folder = None
    engine = None

    def __init__(self, cluster: ClusterConfig) -> None:
        self._cluster = cluster
        options = cluster.options
        self.ready_secs: float = options.get("ready_secs", READY_SECS)
        master = options.get("master", {})
        ram = master.get("ram", render.MASTER_RAM_BYTES)
        self._options = render.YarnOptions(
            options.get("queue", render.QUEUE),
            options.get("python", render.PYTHON),
            Ask(max(1, ram // MIB), int(master.get("cpu", render.MASTER_VCORES))),
            options.get("attempts"),
            tuple(options.get("environment", {}).items()),
        )
        self._client: Client | None = None
        self._application = ""

    def node_fields(self) -> dict[str, Any]:
        """The cluster's name, which locates its file, and the application's id."""
        return {"cluster": self._cluster.name, "application": self._application}

    def client(self) -> Client:
        """A client of the cluster, to be closed by the caller. UsageError without a
        configuration."""
        key = f"yarn: conf_dir in {self._cluster.file}"
        folder = conf_folder(self._cluster.options.get("conf_dir"), key)
        return Client(folder, self._cluster.options.get("staging"))

    @property
    def queue(self) -> str:
        """Where applications are submitted."""
        return self._options.queue

    def check(self, submission: "Submission") -> None:
        """HeronError in one line without YARN, for a closed queue, for a container above the
        maximum, or if workers could not reach the state."""
        problem = self._cluster.store_problem()
        if problem is not None:
            raise HeronError(problem)
        render.check_words(self._spec(submission, "", ()))
        _partitions(submission)
        client = self.client()
        try:
            client.node_count()
            if not self._is_known(client, submission):
                self._check_name(client, submission.topology.name)
            check_queue(client, self.queue)
            client.check_partitions(set(_partitions(submission).values()), self.queue)
            self._application, largest = client.new_application()
            render.check_largest(submission.packing, self._options.master, largest)
            client.staging().check()
        except BaseException:
            client.close()
            raise
        self._client = client

    def _is_known(self, client: Client, submission: "Submission") -> bool:
        """Whether the state store has an application of the name. An ended application's state,
        left for inspection, is removed when the name is reused."""
        from heron_engine.scheduler.registration import forget

        store, name = open_store(submission.store_url), submission.topology.name
        try:
            node = requests.node_of(store, name) or {}
            application = node.get("application")
            if not application:
                return False
            if not _is_over(client.report(application)):
                return True
            _remove_files(client, node, name)
            forget(store, name)
            return False
        finally:
            store.close()

    @staticmethod
    def _check_name(client: Client, name: str) -> None:
        running = next(client.named(name), None)
        if running is not None:
            raise NameInUse(
                f"YARN runs an application called {name!r} already ({running}): choose another "
                f"name with -N, or end it by `yarn application -kill {running}`"
            )

    def describe(self, submission: "Submission") -> str:
        """Containers."""
        return describe_containers(submission)

    def logs(self, submission: "Submission") -> str:
        """Logs are in YARN, accessible to `tail`."""
        return f"`heronpy tail {submission.topology.name}`"

    def preview(self, submission: "Submission") -> str:
        """The application, with names of files not yet uploaded."""
        code = topmost(submission.topology.search_paths)
        names = [(render.RUNTIME, render.ARCHIVE, "lib/heronpy-runtime.tar.gz"),
                 *((f"code_{number}", render.ARCHIVE,
                    f"topologies/{submission.topology.name}/code_{number}.tar.gz")
                   for number, _ in enumerate(code))]  # fmt: skip
        staging = self._cluster.options.get("staging", "~/.heronpy")
        resources = tuple(
            render.LocalResource(link, f"{staging}/{path}", kind, shared=path.startswith("lib"))
            for link, kind, path in names
        )
        spec = self._spec(submission, staging, resources)
        return render.preview(
            submission.topology.name, self._options, spec, submission.packing,
            _partitions(submission),
        )  # fmt: skip

    def _spec(
        self, submission: "Submission", folder: str, resources: tuple[render.LocalResource, ...]
    ) -> render.ApplicationSpec:
        config = keys.with_defaults(submission.topology.config)
        sent = {name: os.environ[name] for name in SENT_VARIABLES if name in os.environ}
        return render.ApplicationSpec(
            submission.topology.name,
            submission.store_url,
            this_python(),
            self._options.python,
            keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
            keys.restart_limit(config),
            folder,
            tuple(topmost(submission.topology.search_paths)),
            resources,
            {**sent, **dict(self._options.environment)},
            keys.value_of(config, keys.STANDBY_CONTAINERS),
        )

    def deploy(self, submission: "Submission") -> None:
        """Upload the files, submit the application, and wait until its containers run; otherwise
        HeronError with YARN's reason, without leftovers."""
        assert self._client is not None  # checked before
        client, name = self._client, submission.topology.name
        self._client = None
        folder = ""
        try:
            staging = client.staging()
            folder = staging.new_folder(name)
            resources = self._put_files(client, staging, submission, folder)
            client.submit(
                name, self._application_options(submission), resources,
                render.master_command(self._options.python), staging,
            )  # fmt: skip
            self._wait(client, submission)
        except BaseException:
            with suppress(HeronError):  # the first error is the one to tell
                client.kill(self._application)
                if folder:
                    staging.remove(folder, name)
            raise
        finally:
            client.close()

    def _application_options(self, submission: "Submission") -> render.YarnOptions:
        """What is secret goes in the application master's environment and nowhere else."""
        secrets = [(each, os.environ[each]) for each in ACCESS_VARIABLES if each in os.environ]
        environment = (*self._options.environment, *secrets)
        partition = _partitions(submission).get(MASTER_CONTAINER, "")
        return replace(self._options, environment=environment, partition=partition)

    def _put_files(
        self, client: Client, staging: Staging, submission: "Submission", folder: str
    ) -> list[render.LocalResource]:
        """Parameters of the application master: common to containers, and its own."""
        limit, file = self._cluster.options.get("archive_limit"), self._cluster.file
        with tempfile.TemporaryDirectory(prefix="heronpy-yarn-") as local:
            bundle = bundled(submission.topology.search_paths, submission.home.archives, local)
            check_size("the runtime", bundle.runtime, limit, file)
            shared = [staging.put_shared(bundle.runtime, render.RUNTIME, render.ARCHIVE, ".tar.gz")]
            for number, (root, path) in enumerate(bundle.code):
                check_size(root, path, limit, file)
                link = f"code_{number}"
                shared.append(staging.put(path, folder, f"{link}.tar.gz", link, render.ARCHIVE))
            spec = self._spec(submission, folder, tuple(shared))
            written = [
                self._written(local, render.SPEC, json.dumps(to_json(spec))),
                self._written(local, render.CONFIG, client.configuration_xml()),
            ]
            own = [
                staging.put(path, folder, link, link, render.FILE)
                for path, link in zip(written, (render.SPEC, render.CONFIG), strict=True)
            ]
        own.append(staging.put_shared(own_py4j(), render.PY4J, render.FILE))
        own += [staging.put_shared(jar, os.path.basename(jar), render.FILE) for jar in own_jars()]
        return [*shared, *own]

    @staticmethod
    def _written(folder: str, name: str, text: str) -> str:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def _wait(self, client: Client, submission: "Submission") -> None:
        """Until every container runs, or the application is over; HeronError if they do not in
        time, or if it failed."""
        containers = len(submission.packing.containers)
        began = reported_at = time.monotonic()
        store, name = open_store(submission.store_url), submission.topology.name
        try:
            while (waited := time.monotonic() - began) < submission.ready_secs(self.ready_secs):
                report = client.report(self._application)
                if report is not None and report.is_over:
                    self._check_succeeded(name, report)
                    return
                if requests.running(requests.node_of(store, name)) == containers:
                    return
                if time.monotonic() - reported_at > REPORT_SECS:
                    reported_at = time.monotonic()
                    print(self._why_not(client, store, submission, report, waited), file=sys.stderr)
                time.sleep(POLL_SECS)
            why_not = self._why_not(client, store, submission, report, waited)
            raise HeronError(f"{why_not}; {CURES}")
        finally:
            store.close()

    def _check_succeeded(self, name: str, report: Report) -> None:
        if report.status != "SUCCEEDED":
            raise HeronError(
                f"{name} failed on YARN ({self._application}): {report.words or report.state}"
            )

    def _why_not(
        self,
        client: Client,
        store: StateStore,
        submission: "Submission",
        report: Report | None,
        waited_secs: float,
    ) -> str:
        """What is missing, with YARN's figures."""
        name = submission.topology.name
        granted = {
            number for number in requests.containers_of(requests.node_of(store, name)) if number
        }
        state = report.state if report is not None else "unknown"
        rest = [
            ask for number, ask in render.asks(submission.packing).items() if number not in granted
        ]
        # A container may already be allocated before it runs, and is then not free.
        if state != "RUNNING" and not (report is not None and report.containers):
            rest.append(self._options.master)
        nodes = client.nodes()
        free = client.queue_free(self.queue) or _sum(node.free for node in nodes)
        largest = max(
            (node.free for node in nodes), key=lambda x: x.memory_mb, default=Capacity(0, 0)
        )
        missing = capacity_shortage(
            _sum(Capacity(each.memory_mb, each.vcores) for each in rest),
            len(granted),
            len(submission.packing.containers),
            free,
            largest,
            self.queue,
            waited_secs,
        )
        words = f" ({report.words})" if report is not None and report.words else ""
        return f"{name} ({self._application}) is {state} on YARN{words}: {missing}"

    def known(self, name: str) -> str:
        """The user's applications."""
        client = self.client()
        try:
            found = ", ".join(client.named(name, client.user))
        finally:
            client.close()
        return f"YARN's {found}" if found else ""

    def end(self, name: str) -> None:
        """Request a graceful end from the application master; kill the application on timeout,
        and remove leftovers."""
        store = open_store(self._cluster.store_url)
        try:
            node = requests.node_of(store, name) or {}
            application = node.get("application")
            client = self.client()
            try:
                if application:
                    self._end(client, store, name, application)
                else:
                    _kill_unknown(client, name)
                _remove_files(client, node, name)
            finally:
                client.close()
        finally:
            store.close()

    @staticmethod
    def _end(client: Client, store: StateStore, name: str, application: str) -> None:
        if _is_over(client.report(application)):
            return
        requests.request(store, name, {"end": "`heronpy kill`"})
        deadline = time.monotonic() + END_SECS
        while time.monotonic() < deadline:
            if _is_over(client.report(application)):
                return
            time.sleep(POLL_SECS)
        if application in client.named(name):  # what a node says may be anybody's
            client.kill(application)

    def replace_engine(self, name: str, container: int, engine: InstalledEngine) -> InstalledEngine:
        """Containers keep the engine that was sent with the topology."""
        raise HeronError(f"container {container} of {name} has no engine of its own")

    def restart(self, name: str, container: int | None) -> None:
        """Have the application master start containers again; HeronError if not everything is there
        again in time."""
        store = open_store(self._cluster.store_url)
        master = MasterClient(store, name)
        try:
            locations = requests.containers_of(requests.node_of(store, name))
            numbers = list(locations) if container is None else [container]
            before = _served(store, name, numbers)
            requests.request(store, name, {"restart": numbers})
            deadline = time.monotonic() + RESTART_SECS
            while time.monotonic() < deadline:
                now = _served(store, name, numbers)
                changed = all(now[x] not in (None, before[x]) for x in numbers)
                if changed and _is_complete(master):
                    return
                time.sleep(POLL_SECS)
        finally:
            master.close()
            store.close()
        raise HeronError(
            f"{name} has not recovered completely after {RESTART_SECS:.0f} s: see "
            f"`heronpy tail {name}`"
        )

    def reserve_capacity(self, store: StateStore, name: str, plan: PackingPlan | None) -> None:
        """The application master asks YARN to enlarge containers where they run."""
        if plan is None:
            requests.request(store, name, {requests.CAPACITY: {}})
            return
        node, asks = requests.node_of(store, name), render.asks(plan)
        self._check_largest(node, plan, asks)
        small = requests.too_small(node, asks)
        if small:
            wanted = {number: requests.ask_to_json(ask) for number, (_, ask) in small.items()}
            requests.request(store, name, {requests.CAPACITY: wanted})

    def _check_largest(
        self, node: Mapping[str, Any] | None, plan: PackingPlan, asks: Mapping[int, Ask]
    ) -> None:
        """UsageError if a container is larger than any that YARN gives."""
        sizes = [Ask(*container["size"]) for container in requests.containers_of(node).values()
                 if container.get("size")]  # fmt: skip
        if all(any(size.covers(ask) for size in sizes) for ask in asks.values()):
            return  # YARN has allocated such containers
        client = self.client()
        try:
            _, largest = client.new_application()
        finally:
            client.close()
        render.check_largest(plan, Ask(0, 0), largest)

    def too_small(self, store: StateStore, name: str, plan: PackingPlan) -> str:
        """By what the application master has published."""
        return requests.growing_words(requests.node_of(store, name), render.asks(plan))

    def waiting(self, store: StateStore, name: str) -> str:
        """By what the application master has published."""
        return str((requests.node_of(store, name) or {}).get(WAITING, ""))

    def unstartable(self, name: str, containers: Sequence[int]) -> str:
        """YARN starts the files of the submission, which have started before."""
        return ""

    def scale(self, name: str, added: Sequence[int], removed: Sequence[int]) -> None:
        """Nothing to do: the application master follows the packing plan in the state store."""


def _kill_unknown(client: Client, name: str) -> None:
    """Applications of this user that no state store knows; their application masters take no
    requests."""
    for application in list(client.named(name, client.user)):
        client.kill(application)


def _remove_files(client: Client, node: Mapping[str, Any], name: str) -> None:
    """A topology's own files, left by a killed application master."""
    folder = node.get(requests.FOLDER)
    if folder:
        client.staging().remove(str(folder), name)


def _served(store: StateStore, name: str, numbers: Iterable[int]) -> dict[int, Any]:
    """number -> its server: the topology master's node, or a running YARN container."""
    locations = requests.containers_of(requests.node_of(store, name))
    running = {
        x: location["id"] for x, location in locations.items() if location["phase"] == "running"
    }
    master = store.get(master_path(name))
    return {x: master if x == MASTER_CONTAINER else running.get(x) for x in numbers}


def _is_complete(master: MasterClient) -> bool:
    """Whether every container and every instance is there."""
    stats = master.try_stats(wait_secs=1.0)
    return (
        stats is not None
        and stats.containers == stats.containers_expected
        and all(each.up == each.instances for each in stats.components.values())
    )


def _is_over(report: Report | None) -> bool:
    """Whether YARN has nothing of an application any more."""
    return report is None or report.is_over


def _sum(capacities: Iterable[Capacity]) -> Capacity:
    every = list(capacities)
    return Capacity(sum(each.memory_mb for each in every), sum(each.vcores for each in every))


def _partitions(submission: "Submission") -> dict[int, str]:
    return partitions(submission.topology, submission.packing)
