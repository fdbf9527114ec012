"""The check that needs no list: a small topology runs on this machine, with acks."""

import time

from heron_cli.bench_run import BenchRun, chain, component
from heron_cli.doctor.results import CheckResult
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.number_text import short
from heron_core.topology import TopologySpec
from heron_frontends.components.bench import BYTES

ACKED_MIN = 1000
SECS_MAX = 30.0
"""Until so many tuples are acked: a tenth of a second, and more on a busy machine."""


def trial_topology() -> TopologySpec:
    """A spout, two instances of a bolt, and acks."""
    spout = component("spout", "Producer", 1, "message")
    bolt = component("bolt", "Last", 2, None, "spout")
    return chain("doctor", (spout, bolt), {BYTES: 20, keys.RELIABILITY_MODE: keys.ATLEAST_ONCE})


def trial_result() -> CheckResult:
    """Whether it starts, and its tuples come back; its logs stay where they do not."""
    began = time.monotonic()
    try:
        with BenchRun(trial_topology()) as run:
            run.wait_until_up()
            up_secs = time.monotonic() - began
            run.wait(
                lambda: run.stats().components["spout"].acked >= ACKED_MIN,
                SECS_MAX,
                f"fewer than {ACKED_MIN} tuples were acked",
            )
            acked, secs = run.stats().components["spout"].acked, time.monotonic() - began
    except HeronError as error:
        return CheckResult(
            "a topology", "problem", str(error), "read its logs, whose folder is named"
        )
    text = f"up after {up_secs:.1f} s, {short(float(acked))} tuples acked after {secs:.1f} s"
    return CheckResult("a topology", "ok", f"3 instances {text}")
