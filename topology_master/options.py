"""Every knob of the topology master, read once from the topology's config."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.plans import PhysicalPlan, TopologyState, initial_state
from heron_core.report_interval import idle_report_secs
from heron_core.state.backup import BackupRule

BLOCKED_SECS = 6.0
"""A queue is a cause of back-pressure above a second of work, so a cause that persists after the
spouts have paused has a far longer queue. In total, an update is done within fifteen seconds."""


class MasterOptions(Struct, frozen=True):
    """Knobs of the topology master."""

    initial_state: str
    tracked: bool = False
    """At least once: what is lost is replayed."""
    checkpoints: bool = False
    """Effectively once: after a failure the topology is restored from a checkpoint."""
    checkpoint_interval_secs: float = 10.0
    checkpoint_timeout_secs: float = 60.0
    """Timeout of a checkpoint."""
    checkpoint_pause_secs: float = 0.1
    """Between the end of one and the next."""
    checkpoints_retained: int = 3
    backup: BackupRule | None = None
    """States are also in the memory of other containers; None: in the checkpoint store alone."""
    silent_secs: float = 5.0
    """A container that was not heard of for so long is shown as down: five heartbeats of its stream
    manager at least."""
    metrics_interval_secs: float = 1.0
    """Between two reports of an instance, or more (heron_core.report_interval)."""
    keep_secs: float = 1.0
    """Between two times that a hundred tasks' counts are kept for a master that takes over; more
    tasks, less often."""
    deactivate_wait_secs: float = 60.0
    """Drain timeout of an update; then remaining tuples fail."""
    blocked_secs: float = BLOCKED_SECS
    """Drain timeout while back-pressure blocks tuples in flight."""
    reactivate_wait_secs: float = 600.0
    """How long it waits for added containers, and after the switch for all instances."""
    probe_interval_secs: float = 0.02
    """Between two rounds of probes while the end is near: short beside a second, long beside a
    round trip."""
    probe_patience_secs: float = 2.0
    """Timeout of a round of probes (an instance may be restarting), before a new round."""
    lost_after_secs: float = 2.0
    """Tuples that were lost leave the counts unequal for ever: after this long without any change,
    with every instance idle, the rest is declared lost."""
    takeover_secs: float = 0.5
    """How long a registered stream manager has to answer when another one of its container
    registers: a hundred round trips, and still half a second from a death to its replacement."""

    metrics_port: int | None = None
    """Port of OpenMetrics, 0 for any free port; None: disabled."""
    metrics_host: str = "127.0.0.1"
    trace_sample: int = 0
    """One in so many tuples of a spout is traced; 0 for none."""
    trace_secs: float = 30.0
    """Time after which the outcome of a traced tuple is no longer awaited."""
    trace_endpoint: str | None = None
    """Where traces go; None for where OpenTelemetry's variables say."""

    def instance_silent_secs(self, tasks: int) -> float:
        """Silence after which an instance is shown as down, for topologies of the given size:
        longer than the report interval of an idle instance."""
        return self.silent_secs + idle_report_secs(self.metrics_interval_secs, tasks)

    @staticmethod
    def of(config: Mapping[str, Any]) -> "MasterOptions":
        """The options in a topology's config."""
        merged = keys.with_defaults(config)
        interval_secs = keys.value_of(merged, keys.METRICS_INTERVAL_MS) / 1000
        return MasterOptions(
            initial_state=initial_state(config),
            tracked=keys.reliability(merged) == keys.ATLEAST_ONCE,
            checkpoints=keys.takes_checkpoints(merged),
            checkpoint_interval_secs=keys.seconds(merged, keys.CHECKPOINT_INTERVAL_SECS),
            checkpoint_timeout_secs=keys.seconds(merged, keys.CHECKPOINT_TIMEOUT_SECS),
            checkpoint_pause_secs=keys.value_of(merged, keys.CHECKPOINT_PAUSE_MS) / 1000,
            checkpoints_retained=keys.value_of(merged, keys.CHECKPOINTS_RETAINED),
            backup=BackupRule.of(config),
            silent_secs=max(5.0, 3 * interval_secs),
            metrics_interval_secs=interval_secs,
            metrics_port=keys.metrics_port(merged),
            metrics_host=keys.metrics_host(merged),
            trace_sample=keys.trace_sample(merged),
            trace_secs=keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS),
            trace_endpoint=keys.trace_endpoint(merged),
            deactivate_wait_secs=keys.seconds(merged, keys.UPDATE_DEACTIVATE_WAIT_SECS),
            reactivate_wait_secs=keys.seconds(merged, keys.UPDATE_REACTIVATE_WAIT_SECS),
        )


def first_state(
    options: MasterOptions, previous: PhysicalPlan | None, stored: Mapping[str, Any]
) -> str:
    """State of a master that takes over, or the initial state of the topology."""
    if (stored.get("update") or {}).get("under_way"):
        # The plan says PAUSED, whatever the user wants.
        return str(stored["state"])
    if previous is not None:
        return previous.state
    is_paused = stored.get("state") == TopologyState.PAUSED
    return TopologyState.PAUSED if is_paused else options.initial_state
