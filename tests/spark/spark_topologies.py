"""Components of the topologies in the tests; a sink prints its input at the end."""

import json
import os
import resource
import signal
import threading
from pathlib import Path
from typing import Any

from heron_api.stream import Stream
from heronpy_compat import Bolt, Spout


class Numbers(Spout):
    """Emits `count` numbers, from the index on in steps of the parallelism, with a key each; every
    third number on stream "third", too, and one to each task of "direct" in turn."""

    outputs = ["number", "key", Stream(["number"], "third"), Stream(["number"], "chosen")]

    def initialize(self, config: Any, context: Any) -> None:
        tasks = context.get_component_tasks(context.get_component_id())
        self.step = len(tasks)
        self.at = tasks.index(context.get_task_id())
        self.count = int(config["test.count"])
        self.direct = context.get_component_tasks("direct")
        self.acked = 0

    def next_tuple(self) -> None:
        if self.at >= self.count:
            self.finish()
            return
        number, self.at = self.at, self.at + self.step
        self.emit([number, f"key {number % 7}"], tup_id=number)
        if number % 3 == 0:
            self.emit([number], stream="third")
        if self.direct:
            self.emit([number], stream="chosen", direct_task=self.direct[number % len(self.direct)])

    def ack(self, tup_id: Any) -> None:
        self.acked += 1
        if self.acked == len(range(tup_id % self.step, self.count, self.step)):
            print(json.dumps({"acked": self.acked}))


class HangsOnce(Numbers):
    """The first call of all instances, in whichever process, never returns."""

    def next_tuple(self) -> None:
        try:
            Path(self.hung).touch(exist_ok=False)
        except FileExistsError:
            super().next_tuple()
        else:
            threading.Event().wait()

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.hung = config["test.hung"]


class Lines(Spout):
    """Numbers out of a generator, a value without a saved form."""

    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        self.numbers = (number for number in range(int(config["test.count"])))

    def next_tuple(self) -> None:
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        else:
            self.emit([number])


class Seen(Bolt):
    """Remembers its input."""

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []
        self.task = context.get_task_id()
        self.name = context.get_component_id()
        self.lock = open(os.devnull)  # cannot be saved  # noqa: SIM115

    def process(self, tup: Any) -> None:
        self.seen.append([tup.component, tup.stream, *tup.values])
        self.ack(tup)

    def on_finish(self) -> None:
        print(json.dumps({"component": self.name, "task": self.task, "seen": self.seen}))


class Times(Bolt):
    """Multiplies by config "test.factor", and says at the end the number of inputs."""

    outputs = ["number", "key"]

    def initialize(self, config: Any, context: Any) -> None:
        self.factor = int(config.get("test.factor", 1))
        self.got = 0

    def process(self, tup: Any) -> None:
        self.got += 1
        self.emit([tup.values[0] * self.factor, "any"], anchors=[tup])

    def on_finish(self) -> None:
        self.emit([-self.got, "last words"])


class Ticking(Bolt):
    outputs = ["number", "key"]

    def process(self, tup: Any) -> None:
        pass

    def process_tick(self, tup: Any) -> None:
        self.emit([1, tup.stream])


class Count(Bolt):
    """Counts by the first value; at one value, once in its life, kills a process, or fills the disk
    of its process."""

    def initialize(self, config: Any, context: Any) -> None:
        self.counts: dict[Any, int] = {}
        self.mark = config.get("test.mark")
        self.victim = config.get("test.victim")

    def process(self, tup: Any) -> None:
        value = tup.values[0]
        self.counts[value] = self.counts.get(value, 0) + 1
        if value == 777 and self.mark and not os.path.exists(self.mark):
            with open(self.mark, "w"):
                pass
            _kill(self.victim)

    def on_finish(self) -> None:
        print(json.dumps({"counts": sorted(self.counts.items())}))


def _kill(victim: str) -> None:
    """The process that holds the components, all of Spark's Python workers, or room on the disk."""
    if victim == "host":
        os.kill(os.getpid(), signal.SIGKILL)
    if victim == "disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        return
    import sys

    import psutil

    for worker in psutil.Process(int(sys.argv[-1])).children():
        worker.kill()


class Broken(Bolt):
    """Imports, but does not start."""

    def initialize(self, config: Any, context: Any) -> None:
        raise ValueError("no such database")

    def process(self, tup: Any) -> None:
        pass


class Poisoned(Count):
    """Raises for every tenth value."""

    def process(self, tup: Any) -> None:
        if tup.values[0] % 10 == 0:
            raise ValueError("poison")
        super().process(tup)


class ByParity:
    """A custom grouping: even numbers to the first task, odd ones to all others."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return self.tasks[:1] if values[0] % 2 == 0 else self.tasks[1:]


class Mixing(Seen):
    """Emits an affine image of its input, and prints the input at the end."""

    outputs = ["number", "key"]

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.factor, self.shift = config["test.factor"], config["test.shift"]

    def process(self, tup: Any) -> None:
        number = tup.values[0]
        self.seen.append(number)
        self.emit([(number * self.factor + self.shift) % 1000, "any"])
