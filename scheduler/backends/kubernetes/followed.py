"""The objects of a topology, followed: one list, then the changes after it.

A list of 1,000 pods has megabytes, and takes a second of the API server and of its client; a watch
sends each change once. A watch lasts WATCH_SECS at most: between two watches the reader checks its
clock and makes other requests. The next watch continues at the same version. Objects are listed
again after a broken connection, and if the version is too old.
"""

import math
import time
from collections.abc import Collection, Iterator
from contextlib import closing
from typing import Any

from heron_engine.scheduler.backends.kubernetes.objects import ClusterObjects
from heron_io.kubernetes.client import ApiUnanswered

WATCH_SECS = 2.0
"""Bounds the delay of progress lines and time-outs; a watch is one small request."""
RETRY_SECS = 0.5
"""Before a new list, where a watch breaks."""
BOOKMARK, DELETED = "BOOKMARK", "DELETED"


class FollowedObjects:
    """Objects of one kind: those of some containers, or all of a topology."""

    def __init__(
        self,
        objects: ClusterObjects,
        kind: str,
        topology: str,
        containers: Collection[int] | None = None,
    ) -> None:
        self._objects, self._kind = objects, kind
        self._topology, self._containers = topology, containers
        self.present: dict[str, dict[str, Any]] = {}
        """name -> object, as of the last change."""
        self._version = ""

    def changes(self, secs: float) -> Iterator[list[dict[str, Any]]]:
        """The changed objects, the removed ones as they were at last: all at first and after a
        break; behind these and each WATCH_SECS an empty list. Ends after `secs`. HeronError if the
        API server refuses, or does not answer for long.

        A request to the server ends the watch under way: make requests after empty lists only."""
        ends_at = time.monotonic() + secs
        yield from self._listed()
        while (left := ends_at - time.monotonic()) > 0:
            try:
                yield from self._watched(max(1, math.ceil(min(WATCH_SECS, left))))
            except ApiUnanswered:
                time.sleep(RETRY_SECS)
                yield from self._listed()
            else:
                yield []

    def _listed(self) -> Iterator[list[dict[str, Any]]]:
        listed, self._version = self._objects.listed_at(
            self._kind, self._topology, self._containers
        )
        self.present = {each["metadata"]["name"]: each for each in listed}
        yield listed
        yield []

    def _watched(self, secs: int) -> Iterator[list[dict[str, Any]]]:
        events = self._objects.watched(
            self._kind, self._topology, self._containers, self._version, secs
        )
        with closing(events):
            for event in events:
                changed = event["object"]
                self._version = changed["metadata"]["resourceVersion"]
                if event["type"] == BOOKMARK:
                    continue
                name = changed["metadata"]["name"]
                if event["type"] == DELETED:
                    self.present.pop(name, None)
                else:
                    self.present[name] = changed
                yield [changed]
