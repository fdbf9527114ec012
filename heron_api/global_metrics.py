"""Counters that any code of a component can reach without a context (heronpy.api.global_metrics).

    from heronpy_compat.api import global_metrics

    global_metrics.incr("cache.misses")  # anywhere; safe_incr from other threads

Each instance registers them at its start, under the name `__auto__`.
"""

import threading
from collections.abc import Hashable
from typing import Any

from heron_api.metrics import MultiCountMetric

metricsContainer = MultiCountMetric()  # noqa: N816 (heronpy's name)
registered = False
root_name = "__auto__"
lock = threading.Lock()


def incr(key: Hashable, to_add: float = 1) -> None:
    """Count `to_add` more under `key`; for the component's own thread.

    Example:

        from heronpy_compat import Bolt

        class Count(Bolt):
            def process(self, tup):
                incr(("bytes", tup.stream), len(tup.values[0]))
    """
    metricsContainer.incr(key, to_add)


def safe_incr(key: Hashable, to_add: float = 1) -> None:
    """Count `to_add` more under `key` from any thread.

    Example:

        from concurrent.futures import ThreadPoolExecutor

        from heronpy_compat import Bolt

        class Fetch(Bolt):
            def initialize(self, config, context):
                self.pool = ThreadPoolExecutor()

            def process(self, tup):
                self.pool.submit(safe_incr, "requests")
    """
    with lock:
        metricsContainer.incr(key, to_add)


def init(metrics_collector: Any, metrics_bucket: float) -> None:
    """Register the counters, read every `metrics_bucket` seconds; only the first call counts.

    `metrics_collector` is a topology context or what its `get_metrics_collector()` returns.

    Example:

        from heronpy_compat import Bolt

        class Count(Bolt):
            def initialize(self, config, context):
                init(context, 10)  # seconds
    """
    global registered  # noqa: PLW0603 (heronpy's module variable)
    with lock:
        if not registered:
            metrics_collector.register_metric(root_name, metricsContainer, metrics_bucket)
            registered = True
