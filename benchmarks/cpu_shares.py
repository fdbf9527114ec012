"""Who uses the CPU in the acked benchmarks: the stream manager's share, and everybody else's.

python -m benchmarks.cpu_shares --rounds 3

Each process's own user and system time between the first tuple and the last ack, of the same runs
as in benchmarks.one_hop and benchmarks.word_count, in per cent of the sum over all processes.
"""

from benchmarks import engine, engine_one_hop, engine_word_count, figures, workload
from benchmarks.engine_marks import variant_config
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.reports import COUNT_KEY
from benchmarks.titles import COMMAND, by_role, cpu_seconds, roles

MESSAGES = 3_000_000
WORDS = 5_000_000
BUDGET_PERCENT = 25.0
SERVICES = ("topology master", "executor", "scheduler", COMMAND)
COMPONENTS = {
    "one_hop": ("messages", "lengths"),
    "word_count": ("sentences", "split", "count"),
}

COLUMNS = [
    column
    for workload_name, components in COMPONENTS.items()
    for column in (
        Column(f"{workload_name} stream manager", f"{workload_name}, acked: stream manager", "%",
               ".1f", BUDGET_PERCENT),
        *(
            Column(f"{workload_name} {role}", f"{workload_name}, acked: {role}", "%", ".1f")
            for role in (*components, "the rest")
        ),
    )
]  # fmt: skip


def shares(name: str, count: int, max_spout_pending: int) -> dict[str, float]:
    """Per cent of the CPU for each role, in one run of one workload."""
    config = variant_config(engine.ACKED, max_spout_pending)
    before: dict[int, float] = {}
    used: dict[str, float] = {}
    with EngineRun(name, {COUNT_KEY: count, **config}) as run:
        for report in run.reports():
            if report["kind"] == "first":
                before = cpu_seconds()
            elif report["kind"] == "last":
                after, role_of_pid = cpu_seconds(), roles()
                used = by_role(
                    {pid: after[pid] - before.get(pid, 0.0) for pid in after}, role_of_pid
                )
    percent = {role: seconds / sum(used.values()) * 100 for role, seconds in used.items()}
    percent["the rest"] = sum(percent.pop(role, 0.0) for role in SERVICES)
    return {f"{name} {role}": value for role, value in percent.items()}


def one_round() -> figures.Round:
    """Both workloads in turn."""
    return {
        **shares("one_hop", MESSAGES, engine_one_hop.MAX_SPOUT_PENDING),
        **shares("word_count", workload.sentence_count(WORDS), engine_word_count.MAX_SPOUT_PENDING),
    }


if __name__ == "__main__":
    figures.run("cpu_shares", __doc__, COLUMNS, one_round)
