"""streamparse's classes at work: replays, exceptions, batches by ticks and by time, threads."""

import os
import queue
import threading
from collections import Counter

from results import write_as
from streamparse import (
    BatchingBolt,
    Bolt,
    Grouping,
    ReliableSpout,
    Stream,
    TicklessBatchingBolt,
    Topology,
)

NUMBERS = 10


class Told:
    """Writes down what it saw."""

    def tell(self, found):
        write_as(f"{self.component_name}-{self.task_id}", found)


class Numbers(Told, ReliableSpout):
    outputs = ["n"]

    def initialize(self, conf, context):
        self.numbers = iter(range(NUMBERS))
        self.emits = 0
        self.acks = []

    def emit(self, tup, **kwargs):
        self.emits += 1
        return super().emit(tup, **kwargs)

    def next_tuple(self):
        number = next(self.numbers, None)
        if number is not None:
            self.emit([number], tup_id=number)
        elif not self.unacked_tuples:
            self.finish()

    def ack(self, tup_id):
        super().ack(tup_id)
        self.acks.append(tup_id)
        self.tell({"emits": self.emits, "acks": sorted(self.acks)})


class NoOdds(Told, Bolt):
    outputs = ["n", Stream(["n", "task"], name="copies")]
    exit_on_exception = False

    def initialize(self, conf, context):
        self.seen = Counter()
        self.emits = 0

    def emit(self, tup, **kwargs):
        self.emits += 1
        return super().emit(tup, **kwargs)

    def process(self, tup):
        self.seen[tup.values.n] += 1
        self.tell({"seen": sorted(self.seen.items()), "emits": self.emits + 2})
        if tup.values.n % 2:
            raise ValueError(f"odd: {tup.values.n}")
        (task,) = self.emit([tup.values.n], need_task_ids=True)
        self.emit([tup.values.n, task], stream="copies")


class ByTicks(Told, BatchingBolt):
    outputs = ["key", "size"]

    def initialize(self, conf, context):
        self.sizes = Counter()

    def group_key(self, tup):
        return tup.values.n % 4

    def process_batch(self, key, tups):
        self.sizes[key] += len(tups)
        self.emit([key, len(tups)])
        self.tell(sorted(self.sizes.items()))


class ByTime(Told, TicklessBatchingBolt):
    secs_between_batches = 0.1

    def initialize(self, conf, context):
        self.total = 0

    def process_batch(self, key, tups):
        assert threading.current_thread() is threading.main_thread()
        self.total += sum(tup.values.size for tup in tups)
        self.tell(self.total)


class Threaded(Told, Bolt):
    """Its tuples are acked by a thread."""

    auto_ack = False

    def initialize(self, conf, context):
        self.tasks = []
        self.queue = queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def process(self, tup):
        self.queue.put(tup)

    def work(self):
        while True:
            tup = self.queue.get()
            self.tasks.append([tup.values.n, tup.values.task])
            self.tell(sorted(self.tasks))
            self.ack(tup.id)


class Fragile(Told, Bolt):
    """Its process ends once."""

    exit_on_exception = True

    def process(self, tup):
        died = os.path.join(os.environ["TEST_RESULTS"], "died")
        if tup.values.n == 4 and not os.path.exists(died):
            with open(died, "w"):
                raise ValueError("cannot stand 4")


class Classes(Topology):
    numbers = Numbers.spec()
    no_odds = NoOdds.spec(inputs=[numbers])
    by_ticks = ByTicks.spec(
        inputs={no_odds: Grouping.fields("n")},
        par=2,
        config={"topology.tick.tuple.freq.secs": 0.1},
    )
    by_time = ByTime.spec(inputs=[by_ticks])
    threaded = Threaded.spec(inputs=[no_odds["copies"]])


class Restarting(Topology):
    numbers = Numbers.spec()
    fragile = Fragile.spec(inputs=[numbers])
