"""100-byte messages through one shuffle: the engine and bytewax in turn.

python -m benchmarks.one_hop --rounds 3 --count 3000000 --peers bytewax
"""

from benchmarks import engine
from benchmarks.driver import Benchmark, Peer, run

BENCHMARK = Benchmark(
    name="one_hop",
    unit="messages",
    count=3_000_000,
    variants=(engine.AT_MOST_ONCE, engine.ACKED),
    peers=(
        # 1,000 is what bytewax's own connectors take; 10,000 trades latency for throughput.
        Peer("bytewax", "one_hop_bytewax"),
        Peer("bytewax-batch-10000", "one_hop_bytewax", ("--batch", "10000")),
    ),
)

if __name__ == "__main__":
    run(BENCHMARK, __doc__)
