"""Memory of an idle topology: one silent spout, ten waiting bolts.

python -m benchmarks.memory --rounds 3

PSS (shared pages are divided among the sharing processes) and USS (private pages) from
/proc/PID/smaps_rollup; per instance: the mean of the ten bolts.
"""

import time
from pathlib import Path

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.titles import COMMAND, by_role, roles
from benchmarks.topologies.idle import IDLE_BOLTS

SETTLE_SECONDS = 3.0
"""Three heartbeats after the last instance was initialised."""
MIB_KIB = 1024
BUDGET_MIB = 8.0
PRIVATE = ("Private_Clean", "Private_Dirty")
SERVICES = ("stream manager", "topology master", "executor", "scheduler", COMMAND)
"""Two executors, including the master's; every other role has one process."""

COLUMNS = [
    Column("instance PSS", "idle instance, PSS", "MiB", ".1f", BUDGET_MIB),
    Column("instance USS", "idle instance, USS", "MiB", ".1f"),
    *(
        Column(f"{role} {kind}", f"{role}{'s (2)' if role == 'executor' else ''}, {kind}", "MiB",
               ".1f")
        for role in SERVICES
        for kind in ("PSS", "USS")
    ),
    Column("all PSS", "all processes of 11 instances, PSS", "MiB", ".0f"),
]  # fmt: skip


def memory_mib(pid: int) -> tuple[float, float]:
    """(PSS, USS) of a process in MiB; OSError when it is gone."""
    kib: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, value = line.partition(":")
        kib[name] = int(value.split()[0])
    return kib["Pss"] / MIB_KIB, sum(kib[name] for name in PRIVATE) / MIB_KIB


def one_round() -> figures.Round:
    """One run, looked at once."""
    with EngineRun("idle", {}, until_done=False) as run:
        run.first("ready", IDLE_BOLTS + 1)
        time.sleep(SETTLE_SECONDS)
        role_of_pid = roles()
        both = {pid: memory_mib(pid) for pid in role_of_pid}
    pss = by_role({pid: one for pid, (one, _) in both.items()}, role_of_pid)
    uss = by_role({pid: one for pid, (_, one) in both.items()}, role_of_pid)
    found = {
        "instance PSS": pss["waiting"] / IDLE_BOLTS,
        "instance USS": uss["waiting"] / IDLE_BOLTS,
    }
    for role in SERVICES:
        found[f"{role} PSS"], found[f"{role} USS"] = pss[role], uss[role]
    return {**found, "all PSS": sum(pss.values())}


if __name__ == "__main__":
    figures.run("memory", __doc__, COLUMNS, one_round)
