"""The driver's part of each batch of a query in a user's session."""

import threading
import time
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.compile.plan import QueryPlan
from heron_spark.driver.progress import Progress, Report
from heron_spark.driver.query import error_line, is_last, results_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from heron_spark.driver.tables import Tables

POLL_SECS = 0.05


class Batches:
    """A function for foreachBatch."""

    def __init__(
        self, plan: QueryPlan, folder: CheckpointDir, tables: "Tables | None", report: Report
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._tables = tables
        self._report = report
        self._began = time.monotonic()
        self.query: Any = None

    def __call__(self, rows: "DataFrame", batch: int) -> None:
        """Run one batch."""
        ending = self._folder.ending()
        if ending is not None and batch > ending:
            return  # it is over, and about to be stopped
        try:
            results = results_of(rows)
        except Exception as error:
            raise HeronError(error_line(error)) from None
        if is_last(self._plan, self._folder, self._tables, batch, results):
            threading.Thread(target=self._stop_after, args=(batch,), daemon=True).start()
        now = time.monotonic()
        secs, self._began = now - self._began, now
        self._report(Progress(batch, secs, tuple(results)))

    def _stop_after(self, batch: int) -> None:
        """Stop the query once Spark has noted that its last batch is done."""
        while self.query is None or (self.query.isActive and self._folder.committed() < batch):
            time.sleep(POLL_SECS)
        self.query.stop()
