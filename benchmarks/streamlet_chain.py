"""Four stateless operators of streamlets as one bolt, and each as a bolt of its own, in turn.

python -m benchmarks.streamlet_chain --rounds 3
"""

from benchmarks import engine
from benchmarks.driver import Benchmark, run

FUSED, APART, ACKED = "fused", "apart", engine.ACKED
VARIANTS = {
    FUSED: engine.AT_MOST_ONCE,
    APART: engine.AT_MOST_ONCE,
    f"{FUSED}-{ACKED}": engine.ACKED,
    f"{APART}-{ACKED}": engine.ACKED,
}
"""Name of a variant -> whether it is acked."""
BENCHMARK = Benchmark(
    name="streamlet_chain", unit="numbers", count=400_000, variants=tuple(VARIANTS), peers=()
)

if __name__ == "__main__":
    run(BENCHMARK, __doc__)
