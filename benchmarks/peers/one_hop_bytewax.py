"""100-byte messages through one shuffle of bytewax: source, redistribute, map, two processes.

redistribute deals the messages out to both workers, so half of them stay in the process of the
source: bytewax sends half as many through a socket as the engine does, which favours bytewax.
"""

from functools import partial
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from benchmarks import workload
from benchmarks.peers.bytewax_cluster import Sink, Source, run_cluster

BATCH_MESSAGES = 1000


def main() -> None:
    """Run the cluster once, check that each message arrived, report."""
    parser = workload.count_parser(__doc__, 1_000_000)
    parser.add_argument("--batch", type=int, default=BATCH_MESSAGES, help="messages per batch")
    options = parser.parse_args()
    first, last, outcomes = run_cluster(partial(build, options.count, options.batch))
    arrived = sum(sum(lengths) for lengths in outcomes)
    workload.check_total(arrived, options.count * workload.MESSAGE_BYTES)
    workload.report(options.count, first, last)


def build(count: int, batch_messages: int, results: Any) -> Dataflow:
    """The dataflow, built alike in both processes; the map is the bolt's work."""
    flow = Dataflow("one_hop")
    source = Source(map(workload.message, range(count)), batch_messages, results)
    messages = op.redistribute("shuffle", op.input("source", flow, source))
    lengths = op.map("bolt", messages, len)
    op.output("sink", lengths, Sink(summing_sink, results))
    return flow


def summing_sink() -> tuple[Any, list[int]]:
    """What to call with a batch of lengths, and where their sums gather."""
    sums: list[int] = []
    return lambda lengths: sums.append(sum(lengths)), sums


if __name__ == "__main__":
    main()
