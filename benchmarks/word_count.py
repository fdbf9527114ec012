"""Word count, 10-word sentences from 10,000 words, split and counted by two each: all in turn.

python -m benchmarks.word_count --rounds 3 --count 5000000 --peers bytewax,pathway
"""

from benchmarks import engine
from benchmarks.driver import Benchmark, Peer, run

# Shares make each contender run for about five seconds at the default count.
BENCHMARK = Benchmark(
    name="word_count",
    unit="words",
    count=5_000_000,
    variants=(engine.AT_MOST_ONCE, engine.ACKED, engine.STREAMPARSE),
    peers=(
        # 1,000 is what bytewax's own connectors take. With 10,000 sentences in a batch each of the
        # 10,000 words comes ten times per batch, so Python is called for ten words at once.
        Peer("bytewax", "word_count_bytewax"),
        Peer("bytewax-batch-10000", "word_count_bytewax", ("--batch", "10000"), share=2.0),
        Peer("pathway", "word_count_pathway"),
        Peer(
            "pystorm-json", "word_count_pystorm", ("--serializer", "json"), share=0.1, tracked=True
        ),
        Peer(
            "pystorm-msgpack",
            "word_count_pystorm",
            ("--serializer", "msgpack"),
            share=0.2,
            tracked=True,
        ),
        Peer("handwritten", "word_count_handwritten", share=4.0),
        Peer("storm", "word_count_storm", share=3.0),
        Peer("storm-acked", "word_count_storm", ("--acked",), tracked=True, share=2.0),
    ),
)

if __name__ == "__main__":
    run(BENCHMARK, __doc__)
