"""Healthy topologies with trouble on demand: while the file of the trouble exists.

Config: `test.trouble`, the name of the file (results.write_as). Each class is one kind of trouble
of tests/drill/troubles.py, with few instances.
"""

import os
import signal
import time

from heronpy_compat import Bolt, Grouping, MultiCountMetric, Spout, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.windows import Count, KeyedWindowBolt, Tumbling

CALLS_PER_TUPLE = 8
"""Some forty tuples a second: busy processes would slow each other down."""
LOOK_AGAIN_SECS = 0.1
SLOW_SECS = 0.03
HOT_SECS = 0.002
AT_LEAST_ONCE = {"topology.reliability.mode": "ATLEAST_ONCE"}
EXACTLY = {
    "topology.reliability.mode": "EFFECTIVELY_ONCE",
    "topology.stateful.checkpoint.interval.seconds": 1,
}


class Trouble:
    """Whether its file exists, by a look now and then."""

    def __init__(self, config):
        self._path = os.path.join(os.environ["TEST_RESULTS"], f"{config['test.trouble']}.json")
        self._looked_at, self._is_there = 0.0, False

    def __bool__(self):
        now = time.monotonic()
        if now - self._looked_at >= LOOK_AGAIN_SECS:
            self._looked_at, self._is_there = now, os.path.exists(self._path)
        return self._is_there

    def wait(self):
        """Block until the end of the trouble."""
        while self:
            time.sleep(LOOK_AGAIN_SECS)


class Numbers(Spout):
    """At a pace, with ids; with `bursts` at full speed during trouble."""

    outputs = ["key", "number"]
    bursts = False

    def initialize(self, config, context):
        self.trouble, self.number = Trouble(config), 0

    def next_tuple(self):
        self.number += 1
        if self.number % CALLS_PER_TUPLE == 0 or (self.bursts and self.trouble):
            self.emit([self.number % 64, self.number], tup_id=self.number)


class Flood(Numbers):
    bursts = True


class HotFlood(Flood):
    """Nine of ten tuples have one key during trouble."""

    def next_tuple(self):
        self.number += 1
        is_hot = self.trouble and self.number % 10
        if self.trouble or self.number % CALLS_PER_TUPLE == 0:
            self.emit(["hot" if is_hot else self.number % 64, self.number], tup_id=self.number)


class Falls(Numbers):
    """Does not emit during trouble."""

    def next_tuple(self):
        if not self.trouble:
            super().next_tuple()


class Sink(Bolt):
    """Acks; `meet` of a subclass is called for a tuple during trouble."""

    outputs = []

    def initialize(self, config, context):
        self.context, self.trouble = context, Trouble(config)

    def process(self, tup):
        if not self.trouble or self.meet(tup) is None:
            self.ack(tup)

    def meet(self, tup):
        """A result other than None: the tuple is not acked."""


class SlowSink(Sink):
    def meet(self, tup):
        time.sleep(SLOW_SECS)


class HotSink(Sink):
    def meet(self, tup):
        time.sleep(HOT_SECS)


class RaisingSink(Sink):
    def meet(self, tup):
        raise ValueError(f"no account {tup.values[1]}")


class NeverAcks(Sink):
    def meet(self, tup):
        return "kept"


class HangingSink(Sink):
    def meet(self, tup):
        self.trouble.wait()


class DyingSink(Sink):
    def meet(self, tup):
        os.kill(os.getpid(), signal.SIGKILL)


class LeakingSink(Sink):
    """Keeps a megabyte of every sixteenth tuple, until its trouble is over."""

    def initialize(self, config, context):
        super().initialize(config, context)
        self.kept = []

    def process(self, tup):
        super().process(tup)
        if self.kept and not self.trouble:
            self.kept.clear()

    def meet(self, tup):
        if tup.values[1] % (16 * CALLS_PER_TUPLE) == 0:
            self.kept.append(bytearray(1 << 20))


class RaisingTick(Sink):
    def process_tick(self, tup):
        if self.trouble:
            raise RuntimeError("the clock is wrong")


class Undeclared(Bolt):
    """Emits without declared outputs."""

    def initialize(self, config, context):
        self.trouble = Trouble(config)

    def process(self, tup):
        if self.trouble:
            self.emit([1])
        self.ack(tup)


class ManySeries(Sink):
    def initialize(self, config, context):
        super().initialize(config, context)
        self.counts = MultiCountMetric()
        context.register_metric("words", self.counts, 1)

    def meet(self, tup):
        for number in range(300):
            self.counts.incr(f"word-{number}")


class NeedsServer(Sink):
    """The second process needs an absent server."""

    def initialize(self, config, context):
        super().initialize(config, context)
        if self.trouble:
            raise ConnectionError("the database is away")

    def meet(self, tup):
        os.kill(os.getpid(), signal.SIGKILL)


class Saved(Sink, StatefulComponent):
    """Counts in its state."""

    def init_state(self, state):
        self.state = state

    def pre_save(self, checkpoint_id):
        self.state.put("count", 1)


class HangingSave(Saved):
    def pre_save(self, checkpoint_id):
        self.trouble.wait()
        super().pre_save(checkpoint_id)


class Timed(Spout):
    """Numbers with the present time; with `late_ms` some are behind during trouble."""

    outputs = ["key", "time_ms"]
    late_ms = 0

    def initialize(self, config, context):
        self.trouble, self.number = Trouble(config), 0

    def next_tuple(self):
        self.number += 1
        if self.number % CALLS_PER_TUPLE == 0:
            behind_ms = self.late_ms if self.trouble and self.number % 16 == 0 else 0
            self.emit([self.number % 4, int(time.time() * 1000) - behind_ms], tup_id=self.number)


class TimedLate(Timed):
    late_ms = 3_600_000


class TimedFalls(Timed):
    def next_tuple(self):
        if not self.trouble:
            super().next_tuple()


class Seconds(KeyedWindowBolt):
    outputs = ["start_ms", "end_ms", "count"]
    window = Tumbling(1000)
    aggregate = Count()
    timestamp_field = "time_ms"


class Minutes(Seconds):
    window = Tumbling(600_000)


class Finite(Spout):
    """Ends at once."""

    outputs = ["key", "number"]

    def initialize(self, config, context):
        self.trouble, self.number = Trouble(config), 0

    def next_tuple(self):
        self.number += 1
        if self.number > 100:
            self.finish()
        else:
            self.emit([self.number % 64, self.number], tup_id=self.number)


class SlowToStart(Sink):
    """`initialize` takes ten seconds, as loading a model does."""

    def initialize(self, config, context):
        super().initialize(config, context)
        time.sleep(10.0)


class Batches(Sink):
    """Acks at ticks alone."""

    def initialize(self, config, context):
        super().initialize(config, context)
        self.batch = []

    def process(self, tup):
        self.batch.append(tup)

    def process_tick(self, tup):
        for each in self.batch:
            self.ack(each)
        self.batch.clear()


class Plain(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = Sink.spec(inputs=[numbers])


class Idle(Topology):
    config = EXACTLY
    numbers = Falls.spec()
    sink = Saved.spec(inputs=[numbers])


class Ending(Topology):
    config = AT_LEAST_ONCE
    numbers = Finite.spec()
    sink = Sink.spec(inputs=[numbers])


class SlowStart(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = SlowToStart.spec(inputs=[numbers])


class LongWindows(Topology):
    config = {
        **AT_LEAST_ONCE,
        "topology.message.timeout.secs": 3600,
        "topology.max.spout.pending": 1_000_000,
    }
    numbers = Timed.spec()
    windows = Minutes.spec(inputs={numbers: Grouping.fields("key")})


class TickBatches(Topology):
    config = {**AT_LEAST_ONCE, "topology.message.timeout.secs": 120}
    numbers = Numbers.spec()
    sink = Batches.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 15})


class Slow(Topology):
    config = AT_LEAST_ONCE
    numbers = Flood.spec()
    sink = SlowSink.spec(inputs=[numbers])


class Hot(Topology):
    config = AT_LEAST_ONCE
    numbers = HotFlood.spec()
    sink = HotSink.spec(par=2, inputs={numbers: Grouping.fields("key")})


class Raising(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = RaisingSink.spec(inputs=[numbers])


class Holding(Topology):
    # A spout at its limit emits nothing until the message timeout, so a cure would not show.
    config = {**AT_LEAST_ONCE, "topology.max.spout.pending": 1_000_000}
    numbers = Numbers.spec()
    sink = NeverAcks.spec(inputs=[numbers])


class Hanging(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = HangingSink.spec(inputs=[numbers])


class Dying(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = DyingSink.spec(inputs=[numbers])


class Leaking(Topology):
    config = {**AT_LEAST_ONCE, "topology.component.rammap": "sink:100MB"}
    numbers = Numbers.spec()
    sink = LeakingSink.spec(inputs=[numbers])


class Ticking(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = RaisingTick.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 0.5})


class Undeclaring(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = Undeclared.spec(inputs=[numbers])


class Counting(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = ManySeries.spec(inputs=[numbers])


class ServerAway(Topology):
    config = AT_LEAST_ONCE
    numbers = Numbers.spec()
    sink = NeedsServer.spec(inputs=[numbers])


class Saving(Topology):
    config = EXACTLY
    numbers = Numbers.spec()
    sink = Saved.spec(inputs=[numbers])


class HangingInSave(Topology):
    config = EXACTLY
    numbers = Numbers.spec()
    sink = HangingSave.spec(inputs=[numbers])


class Silent(Topology):
    config = AT_LEAST_ONCE
    numbers = Falls.spec()
    sink = Sink.spec(inputs=[numbers])


class HeldWindows(Topology):
    config = AT_LEAST_ONCE
    fast = Timed.spec()
    falls = TimedFalls.spec()
    windows = Seconds.spec(inputs={fast: Grouping.fields("key"), falls: Grouping.fields("key")})


class LateTuples(Topology):
    config = AT_LEAST_ONCE
    numbers = TimedLate.spec()
    windows = Seconds.spec(inputs={numbers: Grouping.fields("key")})


class Letters(Topology):
    config = {
        **EXACTLY,
        "topology.bolt.retries": 1,
        "topology.bolt.retry.backoff.ms": 10,
    }
    numbers = Numbers.spec()
    sink = RaisingSink.spec(inputs=[numbers])


class Untracked(Topology):
    config = {"topology.reliability.mode": "ATMOST_ONCE"}
    numbers = Numbers.spec()
    sink = DyingSink.spec(inputs=[numbers])


class Dropping(Topology):
    config = {
        "topology.reliability.mode": "ATMOST_ONCE",
        "topology.backpressure.mode": "drop",
    }
    numbers = Flood.spec()
    sink = SlowSink.spec(inputs=[numbers])
