"""Standing costs of a topology: heartbeats, metrics, plans, a lost container, a takeover.

python -m benchmarks.control_plane --rounds 3

Real processes: 200 instances by `heronpy run`, one spout and 199 waiting bolts. Simulated: 3,000
tasks in 100 containers (simulated_control_plane.py), the product's own cores in one process, first
with idle instances, then with continually changing numbers. Percentages are of one core.
"""

import os
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import figures, usage
from benchmarks.engine_run import TOPOLOGIES, EngineRun
from benchmarks.figures import Column
from benchmarks.memory import memory_mib
from benchmarks.simulated_control_plane import MANAGERS, MASTER, Meter, SimulatedControlPlane
from benchmarks.titles import COMMAND, by_role, roles
from benchmarks.topologies.idle import BOLTS_VARIABLE
from heron_core.records import replace
from heron_frontends.loading.load import load_topology

INSTANCES = 200
SETTLE_SECONDS = 14.0
"""Until idle instances report less often."""
MEASURED_SECONDS = 20.0
CONTAINERS = 100
SIMULATED_SECONDS = 20.0
RECOVERY_SECONDS = 5.0
"""Of the simulated clock: until all have a plan again and all numbers are known."""
LOST_CONTAINER = 7
BOLTS, SPOUT = "waiting", "silent"
ROLES = (BOLTS, "stream manager", "topology master", "executor", "scheduler", "operations")
"""Processes of the topology; the spout polls for tuples, and the command shows its view."""
WAYS = ("from instances", "to the master", "from the master")

REAL_COLUMNS = [
    Column("up", f"{INSTANCES} instances up", "s", ".2f", 8.0),
    Column("PSS", f"{INSTANCES} idle instances: memory of one (PSS)", "MiB", ".2f", 8.0),
    Column("real", f"{INSTANCES} idle instances: heartbeats, metrics and plan", "% of a core",
           ".2f", 5.0),
    *(Column(f"real {role}", f"{INSTANCES} idle instances: {role}", "% of a core", ".2f")
      for role in (*ROLES, SPOUT, COMMAND)),
    Column("wake-ups", f"{INSTANCES} idle instances: wake-ups of all processes", "per s", ",.0f"),
]  # fmt: skip
SIMULATED_COLUMNS = [
    column
    for state, at_most in (("idle", 5.0), ("busy", 5.0))
    for column in (
        Column(f"{state} {MASTER}", f"3,000 {state} tasks: master", "% of a core", ".2f", at_most),
        Column(f"{state} {MANAGERS}", f"3,000 {state} tasks: all 100 stream managers",
               "% of a core", ".2f"),
        *(Column(f"{state} {way} messages", f"3,000 {state} tasks: {way}", "messages/s", ",.0f")
          for way in WAYS),
        *(Column(f"{state} {way} bytes", f"3,000 {state} tasks: {way}", "KiB/s", ",.0f")
          for way in WAYS),
    )
]  # fmt: skip
EVENTS = ("plan round", "container lost", "master taken over")
EVENT_COLUMNS = [
    column
    for event in EVENTS
    for column in (
        Column(f"{event} {MASTER}", f"3,000 tasks, {event}: master", "CPU-s", ".3f", 2.0),
        Column(f"{event} {MANAGERS}", f"3,000 tasks, {event}: all stream managers", "CPU-s",
               ".2f"),
        Column(f"{event} bytes", f"3,000 tasks, {event}: from the master", "MiB", ".1f"),
    )
]  # fmt: skip


def real() -> figures.Round:
    """One run of 200 idle instances."""
    os.environ[BOLTS_VARIABLE] = str(INSTANCES - 1)
    with EngineRun("idle", {}, until_done=False) as run:
        up_seconds = max(each["at"] for each in run.first("ready", INSTANCES)) - run.started_at
        time.sleep(SETTLE_SECONDS)
        began, before = time.monotonic(), usage.usage()
        time.sleep(MEASURED_SECONDS)
        seconds, used = time.monotonic() - began, usage.used(before, usage.usage())
        role_of_pid = roles()
        cpu = usage.cpu_by_role(used)
        pss = by_role({pid: memory_mib(pid)[0] for pid in role_of_pid}, role_of_pid)
    percent = {role: cpu.get(role, 0.0) / seconds * 100 for role in (*ROLES, SPOUT, COMMAND)}
    return {
        "up": up_seconds,
        "PSS": pss[BOLTS] / (INSTANCES - 1),
        "real": sum(percent[role] for role in ROLES),
        **{f"real {role}": value for role, value in percent.items()},
        "wake-ups": sum(one.wake_ups for one in used.values()) / seconds,
    }


def simulated() -> figures.Round:
    """One life of 3,000 tasks."""
    topology = load_topology(str(TOPOLOGIES / "many_tasks.py"))
    topology = replace(topology, config={**topology.config, "topology.stmgrs": CONTAINERS})
    with TemporaryDirectory(prefix="heronpy-control-plane-") as folder:
        all_of_it = SimulatedControlPlane(topology, Path(folder))
        all_of_it.run(2 * RECOVERY_SECONDS)
        found = dict(per_second("idle", all_of_it.run(SIMULATED_SECONDS)))
        found |= per_second("busy", all_of_it.run(SIMULATED_SECONDS, busy=True))
        steps = (
            partial(all_of_it.command, "deactivate"),
            partial(all_of_it.start_container, LOST_CONTAINER),
            all_of_it.replace_master,
        )
        for event, step in zip(EVENTS, steps, strict=True):
            all_of_it.meter = meter = Meter()
            step()
            all_of_it.run(RECOVERY_SECONDS, meter=meter)
            found |= at_once(event, meter)
    return found


def per_second(state: str, meter: Meter) -> figures.Round:
    """Running costs per second of the simulated tasks."""
    found = {
        f"{state} {role}": meter.cpu_seconds[role] / SIMULATED_SECONDS * 100
        for role in (MASTER, MANAGERS)
    }
    for way in WAYS:
        found[f"{state} {way} messages"] = meter.messages[way] / SIMULATED_SECONDS
        found[f"{state} {way} bytes"] = meter.bytes[way] / SIMULATED_SECONDS / 1024
    return found


def at_once(event: str, meter: Meter) -> figures.Round:
    """What an event costs, with the heartbeats of RECOVERY_SECONDS."""
    return {
        f"{event} {MASTER}": meter.cpu_seconds[MASTER],
        f"{event} {MANAGERS}": meter.cpu_seconds[MANAGERS],
        f"{event} bytes": meter.bytes["from the master"] / 2**20,
    }


def one_round() -> figures.Round:
    """Real processes, then the simulation."""
    return {**real(), **simulated()}


if __name__ == "__main__":
    columns = [*REAL_COLUMNS, *SIMULATED_COLUMNS, *EVENT_COLUMNS]
    figures.run("control_plane", __doc__, columns, one_round)
