"""Word count with keyed state by the engine, in one mode: 1 spout, 2 splitters, 2 counters."""

from typing import Any

from benchmarks import key_words, workload
from benchmarks.engine_run import EngineRun
from benchmarks.key_words import KEYS_KEY, MODES
from benchmarks.reports import COUNT_KEY

MAX_SPOUT_PENDING = 20_000
"""Sentences under way where they are acked, ten words each."""
NEVER_SECS = 86_400
CONFIGS: dict[str, dict[str, Any]] = {
    "at-most-once": {},
    "acked": {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.max.spout.pending": MAX_SPOUT_PENDING,
    },
    "no-checkpoints": {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": NEVER_SECS,
    },
    "checkpoints": {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    },
}


def main() -> None:
    """Run the topology once, check every count, report."""
    parser = workload.count_parser(__doc__, 1_000_000)
    parser.add_argument("--variant", choices=MODES, default=MODES[-1])
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--backend", default="memory")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    config = {
        **CONFIGS[options.variant],
        COUNT_KEY: options.count,
        KEYS_KEY: options.keys,
        "topology.state.backend": options.backend,
        **dict(each.split("=", 1) for each in options.config),
    }
    last_of = "last" if options.variant == "acked" else "finished"
    first = last = 0.0
    checkpoints = 0
    parts: list[tuple[int, int]] = []
    with EngineRun("keyed_count", config) as run:
        for report in run.reports():
            match report["kind"]:
                case "first":
                    first = workload.mark("first", report["at"])
                case "checked":
                    parts.append(tuple(report["part"]))
                case "completed" if not last:
                    checkpoints += 1
            if report["kind"] == last_of:
                last = max(last, workload.mark("last", report["at"]))
    key_words.check_total(options.keys, options.count, parts)
    workload.report(options.count, first, last, checkpoints)


if __name__ == "__main__":
    main()
