"""A simulated cluster with states in the memory of other containers' stream managers.

Instances save and load by the product's own code; here stream managers answer at once. Counts of
components and commits of sinks are exact after any loss: the rules `check_restore` and
`check_counts` of effectively_once.py stay as with the checkpoint store alone.
"""

from collections.abc import Callable, Set
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.plans import PhysicalPlan
from heron_core.state.backup import BackupRule
from heron_core.wire.messages import BackupFetched, BackupStored, FetchBackup, StoreBackup
from heron_engine.stream_manager.events import FromClient, ToClient
from heron_instance.states_in_memory import StatesInMemory
from heron_instance.stored_states import CheckpointStates
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import RunMarker
from tests.sim.at_least_once import OwnStates
from tests.sim.cluster import Cluster
from tests.sim.effectively_once import SimStates

if TYPE_CHECKING:
    from tests.sim.instances import Instance


class BackedUp(Cluster):
    """Two containers or more, and a backup in their memory."""

    def __init__(self, seed: int, effectively_once: bool = True) -> None:
        self.fetched = 0
        """States that came from memory."""
        self.rolled_back = 0
        super().__init__(seed, effectively_once)

    def _chosen_config(self) -> dict[str, Any]:
        config = super()._chosen_config()
        rng = Random(f"backup {self.seed}")
        return config | {
            keys.STMGRS: max(2, config[keys.STMGRS]),
            keys.BACKUP: keys.MEMORY,
            keys.BACKUP_DURABLE_EVERY: rng.choice((1, 3, 10)),
            keys.BACKUP_BYTES_MAX: rng.choice((300, 1 << 20, 1 << 20)),
        }

    def note(self, text: str) -> None:
        self.rolled_back += "was in memory, and is lost" in text
        super().note(text)

    def _chosen_states(self, config: dict[str, Any]) -> OwnStates | None:
        self.states = BackedUpStates(self)
        return super()._chosen_states(config)


class BackedUpStates(SimStates):
    """The checkpoint store of such a cluster, and its stream managers before it."""

    def __init__(self, cluster: BackedUp) -> None:
        super().__init__(cluster.seed)
        self._cluster = cluster

    def backed_up(
        self, instance: "Instance", plan: Callable[[], PhysicalPlan | None]
    ) -> CheckpointStates | None:
        """Place of an instance's states."""
        rule = BackupRule.of(self._cluster.topology.config)
        assert rule is not None
        connect = partial(_SimConnections, self._cluster, instance.container)
        memory = StatesInMemory(rule, "sim", instance.task, b"key", plan, connect)
        store: Any = _SimStore(self, instance.container)
        made = CheckpointStates(lambda: store, "sim", instance.task, _MARK, memory=memory)
        made.tell = lambda said: instance.words.send((instance.incarnation, said))
        return made


class _Mark(RunMarker):
    """A mark without an effect: SimStates knows hosts without a disk."""

    def check(self, store: object) -> None: ...


_MARK = _Mark("sim", "", is_folder=False)


class _SimStore:
    """The checkpoint store, as one host sees it."""

    def __init__(self, states: SimStates, container: int) -> None:
        self._states = states
        self._container = container
        self._number = 0

    def save(self, topology: str, checkpoint: int, task: int, state: bytes) -> None:
        self._states.save(self._container, checkpoint, task, state)

    def load(self, topology: str, checkpoint: int, task: int) -> bytes:
        return self._states.load(self._container, checkpoint, task)

    def checkpoint(self, topology: str, checkpoint: int) -> "_SimStore":
        self._number = checkpoint
        return self

    def missing(self, tasks: tuple[int, ...]) -> set[int]:
        found = self._states.sought(self._number, tasks)
        if found.failure:
            raise CheckpointStoreError(found.failure)
        return set(found.missing)


class _SimConnections:
    """Stream managers by address; a partition prevents an answer."""

    def __init__(self, cluster: BackedUp, container: int) -> None:
        self._cluster = cluster
        self._container = container

    def ask(
        self, address: str, question: StoreBackup | FetchBackup
    ) -> BackupStored | BackupFetched:
        cluster = self._cluster
        for container, manager in cluster.managers.items():
            way = self._container, container
            is_cut = {way, way[::-1]} & (cluster.cuts | cluster.drops)
            if manager.address == address and not is_cut:
                event = FromClient(b"client", question)
                for each in manager.core.handle(event, cluster.clock.now):
                    if isinstance(each, ToClient):
                        answer = each.message
                        assert isinstance(answer, BackupStored | BackupFetched)
                        cluster.fetched += isinstance(answer, BackupFetched) and answer.total >= 0
                        return answer
        raise CheckpointStoreError(f"the stream manager at {address} does not answer")

    def keep_only(self, addresses: Set[str]) -> None: ...

    def close(self) -> None: ...
