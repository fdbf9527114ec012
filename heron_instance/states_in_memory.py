"""The states of one task in the memory of other containers (rules: heron_core/state/backup.py).

A state travels in acknowledged parts of PART_BYTES, with the checksum and the signature of a
state's file: a stream manager of another machine is trusted no more than a disk.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Protocol

import msgspec
from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.plans import PhysicalPlan
from heron_core.state.backup import COPIES, BackupRule, ring_after
from heron_core.state.file_snapshot import FileSnapshot, digest_of
from heron_core.wire.messages import (
    BackupFetched,
    BackupStored,
    FetchBackup,
    RestoreTrouble,
    StoreBackup,
)
from heron_io.checkpoint_store.protocol import (
    CheckpointStoreError,
    StateDamaged,
    StateNotSigned,
)
from heron_io.checkpoint_store.signer import Signer
from heron_io.checkpoint_store.state_file import header_of, state_in

PART_BYTES = 1 << 20
"""Of a state in one message: half a millisecond of the other stream manager, and below the limit of
its frames, BUFFER_BYTES_MAX and more."""


class StateLost(CheckpointStoreError):
    """A state was in memory alone, and all its containers have been replaced."""

    trouble = RestoreTrouble.LOST


class Connections(Protocol):
    """Questions to stream managers, by their address."""

    def ask(
        self, address: str, question: StoreBackup | FetchBackup
    ) -> BackupStored | BackupFetched:
        """The answer; CheckpointStoreError without one."""

    def keep_only(self, addresses: Set[str]) -> None:
        """Other addresses are not asked any more."""

    def close(self) -> None:
        """Nothing is asked any more."""


class StateWithFiles(Struct, frozen=True, array_like=True):
    """A state on its way to another container: large states consist of files."""

    file: bytes
    """The state as in the checkpoint store (state_file.py)."""
    files: dict[str, bytes]


class _FilesInMemory:
    """The files of a fetched state."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        with open(path, "wb") as file:
            file.write(self._files[name])

    def read(self, name: str) -> bytes:
        """See FileSource."""
        return self._files[name]

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return None


def _content(state: bytes, name: str) -> bytes:
    assert isinstance(state, FileSnapshot)
    return state.source.read(name)


def _unpacked(data: bytearray, where: str) -> StateWithFiles:
    """StateDamaged for other bytes, and for a file whose name does not begin with its digest."""
    try:
        packed = msgspec.msgpack.decode(data, type=StateWithFiles)
    except msgspec.DecodeError as error:
        raise StateDamaged(f"{where} is damaged: {error}") from None
    for name, content in packed.files.items():
        if not name.startswith(digest_of(content)):
            raise StateDamaged(f"{where} is damaged: the file {name} does not match its name")
    return packed


class StatesInMemory:
    """Sends states to other containers, and fetches them."""

    def __init__(
        self,
        rule: BackupRule,
        topology: str,
        task: int,
        key: bytes,
        plan: Callable[[], PhysicalPlan | None],
        connect: Callable[[], Connections],
    ) -> None:
        """`key` signs states as in the checkpoint store; `plan` returns the newest plan, from any
        thread; `connect` opens connections, for the saving thread and for each fetch in the main
        thread."""
        self.rule = rule
        self._topology = topology
        self._task = task
        self._key = key
        self._plan = plan
        self._connect = connect
        self._saving: Connections | None = None
        self._question = 0

    def _signer(self, checkpoint: int) -> Signer | None:
        return Signer(self._key, f"{self._topology}/{checkpoint}") if self._key else None

    # --- in the saving thread -----------------------------------------------------------------

    def store(self, checkpoint: int, state: bytes) -> tuple[int, str]:
        """Send a state to other containers; returns the number of containers with the state, and a
        reason for each container without, or empty."""
        plan = self._plan()
        if plan is None:
            return 0, "there is no plan yet"
        own = plan.packing.container_of[self._task]
        ring = ring_after(own, [each.id for each in plan.packing.containers])
        if not ring:
            return 0, f"container {own} is the only one"
        if self._saving is None:
            self._saving = self._connect()
        self._saving.keep_only(set(plan.stream_managers.values()))
        data = self._packed(checkpoint, state)
        failures = [
            why
            for container in ring[:COPIES]
            if (why := self._why_not_stored(plan, container, checkpoint, data))
        ]
        return min(COPIES, len(ring)) - len(failures), "; ".join(failures)

    def _packed(self, checkpoint: int, state: bytes) -> memoryview:
        """A state with its files, as one value."""
        signer = self._signer(checkpoint)
        signature = b"" if signer is None else signer.signature(self._task, state)
        file = b"".join((header_of(state, signature), state, signature))
        names = state.files if isinstance(state, FileSnapshot) else ()
        files = {name: _content(state, name) for name in names}
        return memoryview(msgspec.msgpack.encode(StateWithFiles(file, files)))

    def _why_not_stored(
        self, plan: PhysicalPlan, container: int, checkpoint: int, data: memoryview
    ) -> str:
        """Send a state to one container; returns a reason for a failure, or empty."""
        address = plan.stream_managers.get(container)
        if address is None:
            return f"container {container} is not in the plan"
        assert self._saving is not None
        try:
            for offset in range(0, len(data), PART_BYTES):
                self._question += 1
                part = bytes(data[offset : offset + PART_BYTES])
                asked = StoreBackup(self._question, checkpoint, self._task, offset, len(data), part)
                answer = self._saving.ask(address, asked)
                if not isinstance(answer, BackupStored):
                    return f"container {container} gives another answer"
                if answer.reason:
                    return answer.reason
        except HeronError as error:
            return str(error)
        return ""

    # --- in the main thread -------------------------------------------------------------------

    def fetch(self, checkpoint: int, task: int) -> bytes | None:
        """A state of any container; None if all containers have answered without the state.
        CheckpointStoreError if a container with the state may be silent."""
        plan = self._plan()
        if plan is None:
            raise CheckpointStoreError("there is no plan yet")
        holders = self._connect()
        failure: CheckpointStoreError | None = None
        try:
            for container, address in self._asked_for(plan):
                try:
                    data = self._fetched(holders, address, checkpoint, task)
                    if data is not None:
                        return self._state_in(data, checkpoint, task, container)
                except CheckpointStoreError as error:
                    failure = failure or error
        finally:
            holders.close()
        if failure is not None:
            raise failure
        return None

    def _asked_for(self, plan: PhysicalPlan) -> Iterator[tuple[int, str]]:
        """All containers, beginning with the holders of this container's states."""
        own = plan.packing.container_of[self._task]
        for container in [*ring_after(own, plan.stream_managers), own]:
            if address := plan.stream_managers.get(container):
                yield container, address

    def _fetched(
        self, holders: Connections, address: str, checkpoint: int, task: int
    ) -> bytearray | None:
        data = bytearray()
        while True:
            question = FetchBackup(1 + len(data), checkpoint, task, len(data), PART_BYTES)
            answer = holders.ask(address, question)
            if not isinstance(answer, BackupFetched) or answer.total < 0:
                return None
            data += answer.part
            if len(data) >= answer.total:
                return data
            if not answer.part:
                raise CheckpointStoreError(f"the stream manager at {address} ends amid a state")

    def _state_in(self, data: bytearray, checkpoint: int, task: int, container: int) -> bytes:
        where = f"the state of task {task} in the memory of container {container}"
        packed = _unpacked(data, where)
        state, signature = state_in(packed.file, where)
        if packed.files:
            sizes = {name: len(content) for name, content in packed.files.items()}
            state = FileSnapshot.of(state, sizes, _FilesInMemory(packed.files))
        signer = self._signer(checkpoint)
        if signer is not None and not signer.has_signed(task, state, signature):
            raise StateNotSigned(f"{where} is not signed with the key of its topology")
        return state
