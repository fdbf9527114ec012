"""From the settings of a job to the tasks of one container: partitions, stores, restores."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heron_api.class_loading import load_class
from heron_io.left_folders import remove_left
from heronpy_compat.samza.compacted_logs import CompactedLog, FileLog
from heronpy_compat.samza.envelopes import SystemStream, SystemStreamPartition
from heronpy_compat.samza.job_settings import (
    DISK,
    FILES,
    KAFKA,
    JobSettings,
    StoreSettings,
    StreamSettings,
)
from heronpy_compat.samza.local_copies import DiskCopy, LocalCopy, MemoryCopy
from heronpy_compat.samza.side_inputs import SideInput
from heronpy_compat.samza.stores import KeyValueStore, RestoredEntries, restore
from heronpy_compat.samza.systems import OLDEST, UPCOMING, FileConsumer, SystemConsumer
from heronpy_compat.samza.task_checkpoints import (
    CheckpointManager,
    FileCheckpoints,
    LogCheckpoints,
    NoCheckpoints,
    TaskCheckpoint,
)
from heronpy_compat.samza.task_instance import Calls, Input, TaskInstance
from heronpy_compat.samza.tasks import InitableTask, TaskContext

TEMPORARY = "heronpy-samza-"
"""Beginning of the names of temporary folders; the number of the process follows."""


@dataclass(slots=True)
class Assembly:
    """Everything open in a container; `close` releases all."""

    settings: JobSettings
    logger: Any
    consumers: dict[str, SystemConsumer] = field(default_factory=dict)
    tasks: list[TaskInstance] = field(default_factory=list)
    restored: dict[str, RestoredEntries] = field(default_factory=dict)
    """`TASK STORE` -> what was read of the changelog."""
    temporary: str = ""
    """Folder of stores that end with their container."""
    partitions: dict[SystemStream, int] = field(default_factory=dict)
    checkpoints: CheckpointManager = field(default_factory=NoCheckpoints)

    def open(self, index: int, containers: int) -> "range":
        """Connect to the systems; the numbers of the tasks of container `index`."""
        settings = self.settings
        for system, kind in settings.systems.items():
            self.consumers[system] = self._consumer(system, kind)
        side_inputs = (each for store in settings.stores for each in store.side_inputs)
        for stream in (*settings.inputs, *side_inputs):
            self.partitions[stream] = self.consumers[stream.system].partitions(stream.stream)
        self.checkpoints = self._opened_checkpoints()
        return range(index, self.task_count, containers)

    @property
    def task_count(self) -> int:
        """As many tasks as the input with the most partitions has."""
        return max((self.partitions[stream] for stream in self.settings.inputs), default=1)

    def _consumer(self, system: str, kind: str) -> SystemConsumer:
        settings = self.settings
        if kind == FILES:
            folder = settings.of_system(system, "path")
            separator = settings.of_system(system, "key.separator")
            return FileConsumer(folder, separator, settings.is_bounded(system))
        # Late: a job of files needs no client of Kafka.
        from heronpy_compat.samza.kafka_system import KafkaConsumer

        client = settings.client_settings(system, "consumer")
        return KafkaConsumer(
            client, f"samza-{settings.name}", settings.is_bounded(system), self.logger
        )

    def _opened_checkpoints(self) -> CheckpointManager:
        settings = self.settings
        if settings.checkpoints == FILES:
            return FileCheckpoints(f"{settings.properties['task.checkpoint.path']}/{settings.name}")
        if settings.checkpoints == KAFKA:
            system = settings.properties["task.checkpoint.system"]
            topic = f"__samza_checkpoint_ver_1_for_{settings.name}"
            return LogCheckpoints(self._log(SystemStream(system, topic), 0, 1), topic)
        return NoCheckpoints()

    def _log(self, stream: SystemStream, partition: int, partitions: int) -> CompactedLog:
        if self.settings.is_of_files(stream):
            folder = self.settings.of_system(stream.system, "path")
            return FileLog(f"{folder}/{stream.stream}/{partition:05d}")
        from heronpy_compat.samza.kafka_system import KafkaLog

        client = self.settings.client_settings(stream.system, "producer")
        return KafkaLog(client, stream.stream, partition, partitions, self.logger)

    # --- a task -----------------------------------------------------------------------------------

    def add_task(
        self, number: int, saved: TaskCheckpoint | None, is_exact: bool, calls: Calls
    ) -> TaskInstance:
        """Restore and begin a task. `saved`: where it goes on; `is_exact`: changelogs are cut at
        that place."""
        settings, name = self.settings, f"Partition {number}"
        stores: dict[str, KeyValueStore] = {}
        inputs = self._inputs(number, saved)
        try:
            for store in settings.stores:
                position = saved.stores.get(store.name, 0) if saved is not None else 0
                stores[store.name] = opened = self._store(
                    store, number, position if is_exact else None
                )
                inputs += self._side_inputs(store, opened, number)
            user = load_class(settings.task_class)()
            task = TaskInstance(name, user, stores, inputs, settings.concurrency, calls)
        except BaseException:
            for opened in stores.values():
                opened.close()
            raise
        self.tasks.append(task)
        if isinstance(user, InitableTask):
            partitions = tuple(each.partition for each in inputs)
            user.init(TaskContext(name, number, partitions, settings.properties, stores))
        return task

    def _inputs(self, number: int, saved: TaskCheckpoint | None) -> list[Input]:
        settings = self.settings
        partitions = [
            SystemStreamPartition(stream.system, stream.stream, number)
            for stream in settings.inputs
            if number < self.partitions[stream]
        ]
        positions = saved.positions if saved else {}
        return [
            self._input(
                partition, settings.stream(partition.system_stream), positions.get(str(partition))
            )
            for partition in (*partitions, *settings.broadcasts)
        ]

    def _input(
        self, partition: SystemStreamPartition, settings: StreamSettings, position: int | None
    ) -> Input:
        begin = settings.begin if position is None or settings.resets else position
        if begin == UPCOMING:
            # As a number it is part of the next commit: the end moves while no task runs.
            begin = self.consumers[partition.system].end_of(partition)
        task_input = Input(
            partition, settings, begin, taken=begin if isinstance(begin, int) else None
        )
        if settings.bootstraps:
            self._catch_up(task_input)
        return task_input

    def _catch_up(self, task_input: Input) -> None:
        end = self.consumers[task_input.partition.system].end_of(task_input.partition)
        begin = 0 if task_input.position == OLDEST else task_input.position
        if isinstance(begin, int) and begin < end:
            task_input.catches_up_to = end

    def _side_inputs(self, store: StoreSettings, opened: KeyValueStore, number: int) -> list[Input]:
        inputs = []
        for stream in store.side_inputs:
            if number >= self.partitions[stream]:
                continue
            settings = self.settings.stream(stream)
            processor = load_class(store.processor)() if store.processor else None
            partition = SystemStreamPartition(stream.system, stream.stream, number)
            side_input = Input(partition, settings, opened.position or OLDEST)
            side_input.side_input = SideInput(opened, settings, processor)
            self._catch_up(side_input)
            inputs.append(side_input)
        return inputs

    def _store(self, store: StoreSettings, number: int, position: int | None) -> KeyValueStore:
        copy = self._copy(store, number)
        log: CompactedLog | None = None
        if store.changelog is not None:
            log = self._log(store.changelog, number, self.task_count)
            if position == 0 and log.end:
                self.logger.warning(
                    "store %s of task %d begins empty: of the %d entries of its changelog none is"
                    " covered by a checkpoint", store.name, number, log.end,
                )  # fmt: skip
            restored = self.restored[f"Partition {number} {store.name}"] = restore(
                log, copy, position
            )
            self.logger.info(
                "store %s of task %d: %d entries (%d bytes) restored, %s", store.name, number,
                restored.entries, restored.size_bytes, "the tail" if restored.is_tail else "all",
            )  # fmt: skip
        return KeyValueStore(store.name, store.key, store.message, copy, log)

    def _copy(self, store: StoreSettings, number: int) -> LocalCopy:
        if store.kind != DISK:
            return MemoryCopy()
        folder = self.settings.local_folder
        if not folder:
            self.temporary = folder = self.temporary or _temporary_folder()
        return DiskCopy(os.path.join(folder, self.settings.name, store.name, f"{number}.sqlite"))

    # --- all of them ------------------------------------------------------------------------------

    def begin(self) -> Mapping[SystemStreamPartition, list[Input]]:
        """Let the consumers read from the positions of the inputs: partition -> its readers.

        A partition of several tasks begins at the least of their positions.
        """
        readers: dict[SystemStreamPartition, list[Input]] = {}
        for task in self.tasks:
            for task_input in task.inputs:
                readers.setdefault(task_input.partition, []).append(task_input)
        for system, consumer in self.consumers.items():
            consumer.begin(
                {
                    partition: _first([reader.position for reader in inputs])
                    for partition, inputs in readers.items()
                    if partition.system == system
                }
            )
        return readers

    def close(self) -> None:
        """Close consumers and stores."""
        for task in self.tasks:
            task.close()
        for consumer in self.consumers.values():
            consumer.close()
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)
        self.tasks, self.consumers, self.temporary = [], {}, ""


def _temporary_folder() -> str:
    """A new folder; folders of processes that were killed are removed."""
    remove_left(tempfile.gettempdir(), TEMPORARY)
    return tempfile.mkdtemp(prefix=f"{TEMPORARY}{os.getpid()}-")


def _first(positions: list[int | str]) -> int | str:
    if OLDEST in positions:
        return OLDEST
    numbers = [each for each in positions if isinstance(each, int)]
    return min(numbers) if numbers else positions[0]
