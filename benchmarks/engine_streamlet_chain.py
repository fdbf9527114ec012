"""Numbers through four operators of streamlets, by `heronpy run`, fused or each a bolt."""

from benchmarks import workload
from benchmarks.engine_marks import race, variant_config
from benchmarks.streamlet_chain import ACKED, FUSED, VARIANTS
from benchmarks.topologies.streamlet_chain import expected

FUSION = "topology.streamlet.fusion"
MAX_SPOUT_PENDING = 20_000


def main() -> None:
    """Run the topology once, check the sum of what arrived, report."""
    parser = workload.count_parser(__doc__, 400_000)
    parser.add_argument("--variant", choices=list(VARIANTS), default=FUSED)
    options = parser.parse_args()
    config = {
        **variant_config(VARIANTS[options.variant], MAX_SPOUT_PENDING),
        FUSION: options.variant in (FUSED, f"{FUSED}-{ACKED}"),
    }
    found = race("streamlet_chain", options.count, config, is_tracked=False)
    _, total = expected(options.count)
    workload.check_total(sum(each["total"] for each in found.finished), total)
    workload.report(options.count, found.first, found.last)


if __name__ == "__main__":
    main()
