"""One spout whose only tuple goes to all bolts; everybody says when it begins to work.

Config: `benchmark.bolts` instances of the bolt, read from the environment variable of that name in
capitals because parallelism is part of the topology.
"""

import os
from typing import Any

from benchmarks.reports import report
from heronpy_compat import Bolt, Grouping, Spout, Topology

BOLTS_VARIABLE = "BENCHMARK_BOLTS"


class Once(Spout):
    """Emits one tuple."""

    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing was emitted."""
        self.config, self.emitted = config, False

    def next_tuple(self) -> None:
        """The tuple."""
        if not self.emitted:
            self.emitted = True
            self.emit(["hello"])
            report(self.config, "working")


class First(Bolt):
    """Says when its first tuple arrives."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Keep the config."""
        self.config = config

    def process(self, tup: Any) -> None:
        """The tuple."""
        report(self.config, "processed")
        self.ack(tup)


class Startup(Topology):
    """spout -> all -> bolts"""

    once = Once.spec()
    first = First.spec(par=int(os.environ.get(BOLTS_VARIABLE, "1")), inputs={once: Grouping.ALL})
