"""What a process uses, seen on real ones."""

import os
import subprocess
import sys
import time

import pytest

from heron_core.plans import MIB
from heron_io.polling import wait_until
from heron_io.process_usage import (
    OwnUsage,
    descendants,
    family_bytes,
    idle_core_secs,
    resident_bytes,
    waited_for_core_secs,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
HUNGRY_BYTES = 64 * MIB
END_SECS = 60.0


def test_a_child_counts_for_whoever_started_it() -> None:
    # A multi-lang child leaks: its instance is the one that is restarted.
    code = f"held = b'x' * {HUNGRY_BYTES}; print(len(held), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in set(descendants(os.getpid()))
        assert resident_bytes(child.pid) >= HUNGRY_BYTES
        family = family_bytes(os.getpid(), 0.0)
        assert family >= HUNGRY_BYTES
        assert family <= family_bytes(os.getpid(), float("inf"))
        child.communicate(b"\n")
    assert wait_until(lambda: resident_bytes(child.pid) == 0, END_SECS)


def test_cores_are_idle_for_at_most_all_of_the_time() -> None:
    idle_secs = idle_core_secs()
    assert idle_secs is not None
    # Since the machine's start, by the same clock as ours but for its ticks.
    assert 0 <= idle_secs <= time.clock_gettime(time.CLOCK_BOOTTIME) + 1


def test_cpu_is_a_share_of_the_time_between_two_looks() -> None:
    usage = OwnUsage()
    while (found := usage.measure())["cpu_share"] == 0.0:
        sum(range(1_000_000))
    assert found["memory_bytes"] > MIB


def test_a_process_that_shares_a_core_has_waited_for_it() -> None:
    before, cores = waited_for_core_secs(), os.sched_getaffinity(0)
    if before is None:
        pytest.skip("this kernel does not say how long a process has waited for a core")
    core = {min(cores)}
    spin = "import sys\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            os.sched_setaffinity(other.pid, core)
            os.sched_setaffinity(0, core)

            def has_waited() -> bool:
                sum(range(100_000))
                return (waited_for_core_secs() or 0.0) > before

            assert wait_until(has_waited, END_SECS, 0.0)
        finally:
            os.sched_setaffinity(0, cores)
            other.kill()
