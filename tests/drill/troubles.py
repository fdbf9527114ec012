"""The table of the drill: all kinds of trouble with the expected words."""

import os
import signal

from tests.drill.drilled_topology import DrilledTopology
from tests.drill.trouble import Trouble

STUCK_SECS = 5.0
"""topology.stuck.report.secs: a shorter call is only slow."""
LIVENESS_SECS = 15.0
"""A silent process is killed after this time."""


def stopped(drilled: DrilledTopology) -> None:
    """SIGSTOP for the sink, as a debugger does."""
    drilled.signal("sink[0]", signal.SIGSTOP)


def manager_killed(drilled: DrilledTopology) -> None:
    """SIGKILL for the stream manager."""
    drilled.signal("stream manager 1")


def store_away(drilled: DrilledTopology) -> None:
    """The folder of the checkpoints cannot be written to any more, as a full disk."""
    folder = drilled.folder() / "checkpoints"
    aside = folder.with_name("checkpoints-aside")
    os.rename(folder, aside)
    folder.write_text("a file in its place", "utf-8")


def store_back(drilled: DrilledTopology) -> None:
    """Restore the folder."""
    folder = drilled.folder() / "checkpoints"
    folder.unlink(missing_ok=True)
    os.rename(folder.with_name("checkpoints-aside"), folder)


def all_killed(drilled: DrilledTopology) -> None:
    """SIGKILL for all processes at once, as on a host without power."""
    found = [*drilled.processes("guardian"), *drilled.processes("scheduler")]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for each in found:
            each.send_signal(number)


def nothing(drilled: DrilledTopology) -> None:
    """The end of the topology, or time, is the cure."""


TROUBLES = (
    Trouble(
        name="slow-sink", topology="Slow", kind="bottleneck", component="sink", cause="",
        remedy="would do", alert="HeronComponentTooSlow",
    ),
    Trouble(
        name="hot-key", topology="Hot", kind="skewed", component="sink", cause="",
        remedy="group by a finer key", alert="HeronComponentSkewed",
        also=frozenset({"bottleneck"}),  # until a hundred samples show the key
    ),
    Trouble(
        name="raising", topology="Raising", kind="failing", component="sink", cause="ValueError",
        remedy="the last error is ValueError: no account", alert="HeronTuplesFail",
    ),
    Trouble(
        name="never-acks", topology="Holding", kind="unsettled", component="sink",
        cause="does not ack", remedy="self.ack(tup)", alert="HeronTuplesUnsettled", named_secs=12.0,
        why="a bolt may work on a tuple in a thread or for a service for some seconds",
        also=frozenset({"failing"}),  # what it holds expires
    ),
    Trouble(
        name="hanging", topology="Hanging", kind="stuck", component="sink", cause="user code",
        remedy="give what it waits for a timeout", alert="HeronCallStuck",
        named_secs=STUCK_SECS + 3.0, why="topology.stuck.report.secs",
        also=frozenset({"bottleneck"}),  # a shorter call is only slow
    ),
    Trouble(
        name="crash-loop", topology="Dying", kind="crashed", component="sink", cause="",
        remedy="it was restarted", alert="HeronProcessCrashed", gone_secs=None,
        why="a crash is named for five minutes: what ended it may come again",
    ),
    Trouble(
        name="leak", topology="Leaking", kind="memory", component="sink", cause="",
        remedy="topology.component.rammap", alert="HeronMemoryShort", named_secs=40.0,
        gone_secs=None,
        why="the limit is reached after half a minute; the instance is restarted then",
    ),
    Trouble(
        name="tick-raises", topology="Ticking", kind="failing", component="sink",
        cause="outside of tuples", remedy="the last error is RuntimeError",
        alert="HeronTuplesFail",
    ),
    Trouble(
        name="undeclared", topology="Undeclaring", kind="failing", component="sink",
        cause="undeclared outputs", remedy="declares no outputs", alert="HeronTuplesFail",
    ),
    Trouble(
        name="too-many-series", topology="Counting", kind="metrics", component="sink",
        cause="limit", remedy="count fewer keys", alert="HeronMetricsLeftOut", gone_secs=None,
        why="user code keeps its keys",
    ),
    Trouble(
        name="dependency-away", topology="ServerAway", kind="cannot start", component="sink",
        cause="ConnectionError", remedy="fix the component or its dependencies",
        alert="HeronInstanceCannotStart", gone_secs=20.0, why="pauses between tries grow",
        also=frozenset({"crashed", "down"}),
    ),
    Trouble(
        name="stopped-process", topology="Plain", kind="crashed", component="sink",
        cause="was killed by signal # (SIGKILL): it was silent", remedy="it was stopped (SIGSTOP",
        alert="HeronProcessCrashed", make=stopped, cure=nothing, gone_secs=None,
        named_secs=LIVENESS_SECS + 4.0,
        why="topology.liveness.timeout.secs, after which the process is replaced",
        also=frozenset({"down"}),
    ),
    Trouble(
        name="manager-killed", topology="Plain", kind="crashed", component="numbers", cause="",
        remedy="it was restarted", alert="HeronProcessCrashed", make=manager_killed, cure=nothing,
        gone_secs=None, why="a crash is named for five minutes: what ended it may come again",
    ),
    Trouble(
        name="store-away", topology="Saving", kind="checkpoint", cause="",
        remedy="processed again after a failure", alert="HeronCheckpointFails", make=store_away,
        cure=store_back, named_secs=4.0, why="a checkpoint is taken each second",
    ),
    Trouble(
        name="hanging-save", topology="HangingInSave", kind="stuck", component="sink",
        cause="user code", remedy="give what it waits for a timeout", alert="HeronCallStuck",
        named_secs=STUCK_SECS + 4.0, why="a checkpoint each second, topology.stuck.report.secs",
    ),
    Trouble(
        name="silent-spout", topology="Silent", kind="silent", component="numbers",
        cause="without data", remedy="look whether its source has data",
        alert="HeronSpoutSilent", named_secs=63.0,
        why="a spout that emits once a minute is no finding",
    ),
    Trouble(
        name="held-watermark", topology="HeldWindows", kind="watermark", component="windows",
        cause="silent source", remedy="topology.bolts.watermark.idle.ms",
        alert="HeronWatermarkWaits", named_secs=33.0,
        why="a source that is silent for less is usual", also=frozenset({"silent", "failing"}),
    ),
    Trouble(
        name="late-tuples", topology="LateTuples", kind="", component="windows", cause="",
        remedy="", alert="HeronLateTuples", gone_secs=None, why="a rate over ten minutes",
    ),
    Trouble(
        name="dead-letters", topology="Letters", kind="", component="sink", cause="",
        remedy="", alert="HeronDeadLetters", gone_secs=None, why="a rate over ten minutes",
        options=("topology.dead.letter=file:letters",), named_secs=5.0,
        also=frozenset({"failing"}),
    ),
    Trouble(
        name="lost-deliveries", topology="Untracked", kind="lost", cause="at most once",
        remedy="topology.reliability.mode", alert="HeronDeliveriesLost", gone_secs=None,
        why="what is lost stays lost", also=frozenset({"crashed"}),
    ),
    Trouble(
        name="dropped", topology="Dropping", kind="lost", cause="queues full",
        remedy="scale what is behind them", alert="HeronDeliveriesLost", gone_secs=None,
        why="what is lost stays lost", named_secs=10.0, also=frozenset({"bottleneck"}),
    ),
    Trouble(
        name="host-lost", topology="Plain", kind="", cause="", remedy="", alert="HeronTopologyOver",
        make=all_killed, cure=nothing, gone_secs=None, named_secs=6.0,
        why="what is over stays over for a day; `heronpy stats` has nothing to ask",
    ),
)  # fmt: skip
