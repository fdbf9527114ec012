"""Environment of requests of operations: a state store, a fake master, and more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heron_core.errors import HeronError
from heron_core.operations import Operation, OperationKind
from heron_core.plans import (
    MASTER_CONTAINER,
    PackingPlan,
    PhysicalPlan,
    packing_to_json,
    physical_to_json,
)
from heron_core.state_tree import (
    master_path,
    packing_path,
    physical_path,
)
from heron_core.stats import TopologyStats
from heron_core.topology_events import ACTED
from heron_engine.scheduler.container.engines import Choice
from heron_engine.scheduler.operation_kinds import OperationKinds
from heron_engine.scheduler.operation_runner import OperationRunner, TopologyKilled
from heron_engine.scheduler.operation_steps import OperationSteps, Service
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.master_client import NoAnswer
from heron_io.state_store.file_store import FileStore

NAME = "t"
OLD, NEW, OTHER = (PackingPlan(each, ()) for each in (NAME, "new", "other"))


@dataclass
class FakeMaster:
    """Carries out requests at once, as far as allowed by the test."""

    store: FileStore
    paused: bool = False
    quiet: bool = True
    answers: bool = True
    commands: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    """Containers of its events."""
    update: dict[str, Any] = field(
        default_factory=lambda: {
            "number": 0, "under_way": False, "reason": "", "step": None, "waiting_for": [],
            "uncounted": 0,
        }
    )  # fmt: skip
    registered: dict[int, dict[str, Any]] = field(default_factory=dict)
    version: str = "1"
    processed: int = 0
    errors: dict[int, str] = field(default_factory=dict)
    checkpoints: dict[str, Any] = field(
        default_factory=lambda: {
            "completed": 3, "latest": 3, "failed": 0, "failure": "", "restored": 0,
            "released": True, "secs": 0.5, "size_bytes": 100, "age_secs": 1.0,
            "waiting_for": ["words[0]"],
        }
    )  # fmt: skip

    def ask(
        self, command: str, arguments: Mapping[str, Any] | None = None, wait_secs: float = 3.0
    ) -> dict[str, Any]:
        if not self.answers:
            raise NoAnswer("nobody answers")
        if command != ACTED:
            self.commands.append(command)
        return dict(getattr(self, "on_" + command)(arguments or {}))

    def try_ask(
        self, command: str, arguments: Mapping[str, Any] | None = None, wait_secs: float = 3.0
    ) -> dict[str, Any] | None:
        try:
            return self.ask(command, arguments, wait_secs)
        except HeronError:
            return None

    def stats(self) -> TopologyStats:
        return TopologyStats.from_json(self.ask("stats"))

    def try_stats(self, wait_secs: float = 3.0) -> TopologyStats | None:
        stats = self.try_ask("stats")
        return None if stats is None else TopologyStats.from_json(stats)

    def on_acted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.actions.append(str(arguments["what"]))
        return {}

    def on_activate(self, _: Mapping[str, Any]) -> dict[str, Any]:
        changed, self.paused = self.paused, False
        return {"changed": changed}

    def on_deactivate(self, _: Mapping[str, Any]) -> dict[str, Any]:
        changed, self.paused = not self.paused, True
        return {"changed": changed}

    def on_drain(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def on_update(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.store.put(packing_path(NAME), arguments["packing"])
        self.update |= {
            "number": self.update["number"] + 1, "under_way": True, "step": "drain", "reason": "",
            "waiting_for": ["words[0]"],
        }  # fmt: skip
        return {"number": self.update["number"]}

    def on_cancel(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.update |= {"step": "instances", "reason": arguments["reason"]}
        return {}

    def on_stats(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "topology": NAME,
            "state": "RUNNING",
            "epoch": 1,
            "phase": "running",
            "lost": 0,
            "paused": {},
            "stream_managers": {},
            "master": {},
            "errors": self.errors,
            "version": self.version,
            "quiet": self.quiet,
            "update": self.update,
            "checkpoints": self.checkpoints,
            "registered": self.registered,
            "containers": sorted(self.registered),
            "containers_expected": sorted(self.registered),
            "components": {},
        }

    def on_checkpoint(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"number": self.checkpoints["latest"] + 1}

    def restarted(self, container: int, version: str, up: bool) -> None:
        """Another process serves the container, if it comes up."""
        if container == MASTER_CONTAINER:
            before = (self.store.get(master_path(NAME)) or {"pid": 0})["pid"]
            self.store.put(master_path(NAME), {"host": "h", "pid": before + 1000})
            self.version = version
            return
        before = self.registered.pop(container, {"pid": container})["pid"]
        self.processed += 1
        if up:
            self.registered[container] = {
                "host": "h", "pid": before + 1000, "secs": 0.0, "version": version
            }  # fmt: skip

    def end_update(self, running: PackingPlan, reason: str = "") -> None:
        """The master's steps at the end of an update."""
        run_by(self.store, running)
        self.update |= {"under_way": False, "reason": reason}


@dataclass
class FakeContainers:
    """A container that is restarted is another process at once."""

    master: FakeMaster
    back_secs: float = 30.0
    restarted: list[int] = field(default_factory=list)
    room: list[PackingPlan | None] = field(default_factory=list)
    """Plans whose room was requested."""
    small: str = ""
    waits: str = ""
    engines: dict[int, Choice] = field(default_factory=dict)
    broken: str = ""
    """Version of an engine with a failing start."""
    unstarted: dict[int, str] = field(default_factory=dict)
    """container -> why it cannot start with another engine than its first."""
    starts: str = ""
    """Version of every started container, regardless of the choice."""

    def choose(self, container: int, choice: Choice) -> Choice:
        before = self.engines.get(container, Choice())
        self.engines[container] = choice
        if choice.engine is None:
            self.unstarted.pop(container, None)
        return before

    def stop(self, container: int) -> None:
        self.restarted.append(container)
        engine = self.engines[container].engine
        version = self.starts or (engine.version if engine is not None else "1")
        self.master.restarted(container, version, up=version != self.broken)

    def reserve_capacity(self, plan: PackingPlan | None) -> None:
        self.room.append(plan)

    def too_small(self, plan: PackingPlan) -> str:
        return self.small

    def waiting(self) -> str:
        return self.waits

    def unstartable(self, containers: Sequence[int]) -> str:
        return next((self.unstarted[each] for each in containers if each in self.unstarted), "")

    def restart(self, container: int, service: Service) -> None:
        self.restarted.append(container)
        self.master.registered[container] = {
            "host": service[0],
            "pid": service[1] + 1000,
            "secs": 0.0,
        }

    def scale(self, added: Sequence[int], removed: Sequence[int]) -> None:
        pass

    def end(self, reason: str) -> None:
        raise TopologyKilled(reason)


def run_by(store: FileStore, packing: PackingPlan) -> None:
    store.put(packing_path(NAME), packing_to_json(packing))
    store.put(physical_path(NAME), physical_to_json(PhysicalPlan(NAME, 1, "RUNNING", packing, {})))


@dataclass
class World:
    """A running topology, and its replaceable runner."""

    store: FileStore
    master: FakeMaster
    containers: FakeContainers
    requests: TopologyRequests
    now: float = 0.0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A runner with only the state store, as after a kill -9."""
        steps = OperationSteps(
            self.store,
            NAME,
            self.master,  # type: ignore[arg-type]
            self.containers,
            lambda: self.now,
        )
        kinds = OperationKinds(steps, self.requests, lambda: self.now)
        self.runner = OperationRunner(self.requests, kinds)

    def ask(self, kind: OperationKind, **arguments: Any) -> Callable[[], Operation]:
        number = self.requests.ask(kind, arguments)

        def now() -> Operation:
            found = self.requests.get(number)
            assert found is not None
            return found

        return now

    def poll(self, times: int = 1) -> None:
        for _ in range(times):
            self.runner.poll()
