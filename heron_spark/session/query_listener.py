"""Listener of a user's session: checkpoints of its queries, and their ends.

Spark calls onQueryStarted in the thread that will run the query's batches. Properties set in the
thread travel with each task, so workers of a DataFrame learn the checkpoint given to `writeStream`.
Other threads of the user, in foreachBatch, use the query's own session, whose settings Spark gives
to their tasks.
"""

import glob
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pyspark.sql.streaming.listener import StreamingQueryListener

from heron_io.atomic_files import remove
from heron_spark.session.user_session import local_path
from heron_spark.worker.frame_level import CHECKPOINT, FOLDER, RUN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN_CHARACTERS = 12
"""Of Spark's id, which has 36: the path of a socket has to be short."""

_listeners: "WeakKeyDictionary[SparkSession, QueryListener]" = WeakKeyDictionary()
_lock = threading.Lock()


class QueryListener(StreamingQueryListener):
    """One for each session."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._at_end: dict[str, Callable[[], None]] = {}
        self._roots: dict[str, str] = {}

    def at_end(self, run: str, call: Callable[[], None]) -> None:
        """Call `call` after the end of a query's run, by Spark's id."""
        self._at_end[run] = call

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Let the query's tasks know where its checkpoint is."""
        manager: Any = self._spark._jsparkSession.streams()
        query = manager.get(str(event.id)).streamingQuery()
        root = str(query.resolvedCheckpointRoot())
        context, run = self._spark.sparkContext, str(event.runId)
        settings = query.sparkSessionForStream().conf()
        location = {
            CHECKPOINT: local_path(root) or root,
            RUN: run.replace("-", "")[:RUN_CHARACTERS],
        }
        for key, value in location.items():
            context.setLocalProperty(key, value)
            settings.set(key, value)
        self._roots[run] = root

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Nothing to do."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """End the hosts of the query's DataFrames, and make the registered calls."""
        run = str(event.runId)
        path = local_path(self._roots.pop(run, ""))
        name = f"{run.replace('-', '')[:RUN_CHARACTERS]}.json"
        if path:
            pattern = os.path.join(glob.escape(path), FOLDER, "*", "runs", name)
            for file in glob.glob(pattern):
                remove(file)
        call = self._at_end.pop(run, None)
        if call is not None:
            call()


def listener_of(spark: "SparkSession") -> QueryListener:
    """The session's, which is added when first asked for."""
    with _lock:
        found = _listeners.get(spark)
        if found is None:
            found = _listeners[spark] = QueryListener(spark)
            spark.streams.addListener(found)
        return found
