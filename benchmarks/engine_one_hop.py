"""100-byte messages through one shuffle of the engine, by `heronpy run`."""

from benchmarks import engine, workload
from benchmarks.engine_marks import parse, race, variant_config

MAX_SPOUT_PENDING = 20_000
"""About 40 batches under way: 20 to 50 ms at full speed, which hides the acks' round trip."""


def main() -> None:
    """Run the topology once, check that each message arrived, report."""
    options = parse(__doc__, 1_000_000)
    config = variant_config(options.variant, MAX_SPOUT_PENDING)
    found = race("one_hop", options.count, config, options.variant in engine.TRACKED)
    arrived = sum(each["total_bytes"] for each in found.finished)
    workload.check_total(arrived, options.count * workload.MESSAGE_BYTES)
    workload.report(options.count, found.first, found.last)


if __name__ == "__main__":
    main()
