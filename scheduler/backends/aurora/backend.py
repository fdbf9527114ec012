"""The back end of a cluster with `scheduler: aurora`."""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.placement import topology_labels
from heron_core.plans import MASTER_CONTAINER, MIB, PackingPlan
from heron_core.state_tree import master_path
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.aurora import render
from heron_engine.scheduler.backends.aurora.client import AuroraClient, NothingThere, TimedOut
from heron_engine.scheduler.backends.protocol import describe_containers
from heron_engine.scheduler.clusters.config import Archives, ClusterConfig, words_of
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.container_sizes import CONTAINER_SIZE
from heron_engine.scheduler.packaging.archive import this_python
from heron_engine.scheduler.packaging.bundle import bundled, topmost
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

if TYPE_CHECKING:
    from heron_engine.scheduler.submission import Submission

CLIENT = "aurora"
ENVIRONMENT = "devel"
"""Where a cluster's file says none; Aurora takes prod, devel, test and stagingN by default."""
READY_SECS = 180.0
"""Offers of resources, archives that have to be fetched, and a container's start on each."""
RUNTIME_FOLDER = "runtime"
SENT_VARIABLES = ("HERONPY_STREAMPARSE",)
"""Environment without secrets: the job file and `ps` show the values."""
DIGEST_CHARACTERS = 16
"""Distinguishes archives of one topology."""


class AuroraBackend:
    """Every container is an instance of one Aurora job, the topology master's is instance 0."""

    kind = "aurora"
    code_folder = None
    engine = None
    ready_secs = READY_SECS

    def __init__(self, cluster: ClusterConfig) -> None:
        self._cluster = cluster
        self._size: dict[str, float] = {}
        options = cluster.options
        self._client = words_of(options.get("client", CLIENT))
        self._options = render.AuroraOptions(
            options.get("tier"),
            options.get("production", False),
            tuple(options.get("constraints", {}).items()),
            options.get("python", render.PYTHON),
            options.get("environment_file"),
            self._archives.fetch,
        )

    @property
    def _archives(self) -> Archives:
        assert self._cluster.archives is not None  # the file was checked
        return self._cluster.archives

    def key(self, name: str) -> render.JobKey:
        """The topology's job."""
        options = self._cluster.options
        environment = options.get("env", ENVIRONMENT)
        return render.JobKey(options["cluster"], options["role"], environment, name)

    def client(self, name: str) -> AuroraClient:
        """Does things to the topology's job."""
        return AuroraClient(self._client, self.key(name))

    def check(self, submission: "Submission") -> None:
        """HeronError if the client is not there, the archives' place cannot be written to, or the
        workers could not see the state."""
        render.check_name(submission.topology.name)
        self._size = to_json(render.largest(submission.packing))
        problem = self.client_problem() or self.archives_problem() or self._cluster.store_problem()
        if problem is not None:
            raise HeronError(problem)

    def client_problem(self) -> str | None:
        """Why the client cannot be called, in one line."""
        if shutil.which(self._client[0]) is None:
            return (
                f"the Aurora client {self._client[0]!r} is not found: install it, or name it by "
                f"aurora: client in {self._cluster.file}"
            )
        return None

    def archives_problem(self) -> str | None:
        """Why archives cannot be put where the workers fetch them, in one line."""
        folder = self._archives.folder
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return None
        why = "cannot be written to" if os.path.isdir(folder) else "is not a folder"
        return (
            f"{folder} {why}: make it so, or name another place by archives: folder in "
            f"{self._cluster.file}"
        )

    def node_fields(self) -> dict[str, Any]:
        """The cluster's name, which locates its file, and the common size of containers: added
        containers get an equal size."""
        return {"cluster": self._cluster.name, CONTAINER_SIZE: self._size}

    def describe(self, submission: "Submission") -> str:
        """Containers."""
        return describe_containers(submission)

    def logs(self, submission: "Submission") -> str:
        """Logs are in Aurora."""
        return "the sandboxes of its Aurora job"

    def preview(self, submission: "Submission") -> str:
        """The job file, with names of archives that are not packed yet."""
        code = [
            (root, f"code-{number}.packed")
            for number, root in enumerate(topmost(submission.topology.search_paths))
        ]
        job_file = self._job_file(submission, "heronpy-runtime.packed", code)
        client = self.client(submission.topology.name)
        bound = render.bindings(client.job, submission.packing, self._options)
        lines = [f"# --bind {name}={value}" for name, value in bound.items()]
        return "\n".join([*lines, job_file])

    def deploy(self, submission: "Submission") -> None:
        """Upload the archives and create the job; a rejected job leaves no files."""
        name = submission.topology.name
        put: list[str] = []
        client = self.client(name)
        try:
            runtime, code = self._put_archives(submission, put)
            path = os.path.join(submission.home.logs(name), f"{name}.aurora")
            with open(path, "w", encoding="ascii") as file:
                file.write(self._job_file(submission, runtime, code))
            bound = render.bindings(client.job, submission.packing, self._options)
            client.create(bound, path, self.ready_secs)
        except TimedOut:
            return  # it waits for resources; the master's absence will be reported
        except KeyboardInterrupt:
            client.kill_all()
            self._remove(put)
            raise
        except BaseException:
            self._remove(put)
            raise

    def known(self, name: str) -> str:
        """The job, if it has active instances."""
        client = self.client(name)
        return f"Aurora's job {client.job}" if client.status() else ""

    def end(self, name: str) -> None:
        """End the job and remove the topology's archives; the runtime is everybody's."""
        self.client(name).kill_all()
        shutil.rmtree(self._folder(name), ignore_errors=True)

    def replace_engine(self, name: str, container: int, engine: InstalledEngine) -> InstalledEngine:
        """Containers keep the engine that was sent with the topology."""
        raise HeronError(f"container {container} of {name} has no engine of its own")

    def restart(self, name: str, container: int | None) -> None:
        """`aurora job restart`; the master's node goes first, so that the next master need not wait
        for the old one's session to run out (Heron: RuntimeManagerRunner)."""
        if container in (None, MASTER_CONTAINER):
            store = open_store(self._cluster.store_url)
            try:
                store.delete(master_path(name))
            finally:
                store.close()
        self.client(name).restart(container)

    def reserve_capacity(self, store: StateStore, name: str, plan: PackingPlan | None) -> None:
        """A job's instances keep their size; that the plan's containers fit was checked."""

    def too_small(self, store: StateStore, name: str, plan: PackingPlan) -> str:
        """No action."""
        return ""

    def waiting(self, store: StateStore, name: str) -> str:
        """The client waits itself, and fails when Aurora has no room."""
        return ""

    def unstartable(self, name: str, containers: Sequence[int]) -> str:
        """Aurora starts the files of the submission, which have started before."""
        return ""

    def scale(self, name: str, added: Sequence[int], removed: Sequence[int]) -> None:
        """`aurora job add` and `aurora job kill`. Aurora numbers new instances itself, one above
        the highest active number, as the packing plan does; any other numbers are an error, and
        the instances are removed. An interrupted command may have added some already."""
        client = self.client(name)
        if added:
            there = {each.number for each in client.status()}
            _add(client, [each for each in added if each not in there])
        if removed:
            # Both the cancelling and the requesting command undo the update's additions.
            with suppress(NothingThere):
                client.kill(removed)

    def _folder(self, name: str) -> str:
        """Prefix of a topology's own archives: the job's key, which names the job."""
        key = self.key(name)
        return os.path.join(self._archives.folder, key.cluster, key.role, key.environment, key.name)

    def _put_archives(
        self, submission: "Submission", put: list[str]
    ) -> tuple[str, list[tuple[str, str]]]:
        """Pack and copy; the runtime's and the code's names below the archives' folder. What is
        new there is added to `put`."""
        home, folder = submission.home, self._folder(submission.topology.name)
        with tempfile.TemporaryDirectory(prefix="heronpy-aurora-") as packed:
            bundle = bundled(submission.topology.search_paths, home.archives, packed)
            self._check_sizes([("the runtime", bundle.runtime), *bundle.code])
            runtime = os.path.join(self._archives.folder, os.path.basename(bundle.runtime))
            self._copy(bundle.runtime, runtime, put)
            code = []
            for number, (root, path) in enumerate(bundle.code):
                file = os.path.join(folder, f"code-{number}-{_digest(path)}.packed")
                self._copy(path, file, put)
                code.append((root, os.path.relpath(file, self._archives.folder)))
        return os.path.basename(runtime), code

    def _check_sizes(self, archives: Iterable[tuple[str, str]]) -> None:
        limit = self._archives.limit_bytes
        for what, path in archives:
            found = os.path.getsize(path)
            if limit is not None and found > limit:
                raise UsageError(
                    f"the archive of {what} has {found / MIB:.1f} MiB, and archives: limit in "
                    f"{self._cluster.file} is {limit / MIB:.1f} MiB: move what is not code out of "
                    "it, or raise the limit"
                )

    @staticmethod
    def _copy(source: str, target: str, put: list[str]) -> None:
        """Atomic; an existing archive has equal contents."""
        if os.path.exists(target):
            return
        partial = f"{target}.{secrets.token_hex(4)}.part"
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                shutil.copyfile(source, partial)
                os.replace(partial, target)
            finally:
                if os.path.exists(partial):
                    os.unlink(partial)
        except OSError as error:
            raise HeronError(f"{target} cannot be written: {error.strerror}") from None
        put.append(target)

    def _remove(self, put: Iterable[str]) -> None:
        """Remove the files of a failed attempt, and folders empty afterwards."""
        for path in put:
            os.unlink(path)
            folder = os.path.dirname(path)
            while folder != self._archives.folder and not os.listdir(folder):
                os.rmdir(folder)
                folder = os.path.dirname(folder)

    def _job_file(
        self, submission: "Submission", runtime: str, code: Iterable[tuple[str, str]]
    ) -> str:
        config = keys.with_defaults(submission.topology.config)
        spec = render.JobSpec(
            submission.store_url,
            keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
            this_python(),
            self._fetched(runtime, RUNTIME_FOLDER),
            tuple(
                (root, self._fetched(path, f"code_{number}"))
                for number, (root, path) in enumerate(code)
            ),
            tuple((name, os.environ[name]) for name in SENT_VARIABLES if name in os.environ),
        )
        labels = topology_labels(submission.topology.config)
        options = self._options.on_nodes(labels)
        return render.job_file(self.key(submission.topology.name), options, spec)

    def _fetched(self, path: str, folder: str) -> render.FetchedArchive:
        return render.FetchedArchive(os.path.basename(path), f"{self._archives.uri}/{path}", folder)


def _add(client: AuroraClient, added: Sequence[int]) -> None:
    """Add instances with the numbers; HeronError on failure, without leftovers."""
    if not added:
        return
    try:
        given = client.add(len(added))
    except TimedOut:
        with suppress(HeronError):
            client.kill(added)
        raise
    if sorted(given) != sorted(added):
        client.kill(given)
        raise HeronError(
            f"Aurora numbered the added instances of {client.job} {_listed(given)}, but the plan "
            f"needs {_listed(added)}: `aurora job status {client.job}` shows their present owners"
        )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_CHARACTERS]
