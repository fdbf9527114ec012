"""How the engine is run as a contender: the commands of its own benchmark programs.

Each is a module `benchmarks/engine_WORKLOAD.py` that takes `--count N` and `--variant NAME`, does
the work of workload.py, checks its result and prints the marks and the result line like any peer.
"""

import importlib.util
import sys

from benchmarks.measure import BenchmarkError

# What is compared; the first is the name of the variant in the tables, behind "engine-".
AT_MOST_ONCE = "at-most-once"
ACKED = "acked"
# The classes of peers/pystorm_components.py, unmodified, acked.
STREAMPARSE = "streamparse"
TRACKED = frozenset({ACKED, STREAMPARSE})


def engine_command(workload: str, variant: str, count: int) -> list[str]:
    """Command of the engine's side of a benchmark; raises BenchmarkError if missing."""
    module = f"benchmarks.engine_{workload}"
    if importlib.util.find_spec(module) is None:
        raise BenchmarkError(
            f"the engine has no program for {workload} ({module.replace('.', '/')}.py is missing): "
            "run the peers alone with --variants none"
        )
    return [sys.executable, "-m", module, "--count", str(count), "--variant", variant]
