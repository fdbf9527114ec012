"""Records of a topology master beside the logs: events, counts, the last statistics.

Not in the state store: a line now and then, and a small file every second, needed only by a
later master or a person on the machine.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.stats import InstanceStats, TopologyStats
from heron_core.topology_events import TopologyEvent, log_line
from heron_core.typed_json import to_json
from heron_io.private_files import private

log = logging.getLogger("topology_master")

EVENTS_FILE = "events.log"
"""One line for each event (heron_core.topology_events)."""
STATISTICS_FILE = "statistics.json"
"""Data of a topology master for its successor."""
LAST_NUMBERS_FILE = "last-numbers.json"
"""The answer of `stats` when the topology master ended."""

EVENTS_BYTES_MAX = 1024 * 1024
"""Of events.log; the file before it, events.log.1, has as many again."""


class RunRecords:
    """Files in one folder; what cannot be written (a full disk) is told once, and not there."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._has_failed = False

    def write_event(self, event: TopologyEvent) -> None:
        """One line more in events.log."""
        log.info("%s", log_line(event).partition(" ")[2])
        if self._folder is None:
            return
        path = os.path.join(self._folder, EVENTS_FILE)
        try:
            with open(path, "a", encoding="utf-8", errors="replace", opener=private) as file:
                file.write(log_line(event).replace("\n", " ") + "\n")
                is_full = file.tell() > EVENTS_BYTES_MAX
            if is_full:
                os.replace(path, f"{path}.1")
        except OSError as error:
            self._failed(error)

    def keep(self, statistics: dict[str, Any]) -> None:
        """Store the data for a successor."""
        self._write(STATISTICS_FILE, statistics)

    def retained(self) -> dict[str, Any]:
        """Data of a previous master; empty if missing or unreadable."""
        if self._folder is None:
            return {}
        try:
            with open(os.path.join(self._folder, STATISTICS_FILE), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_last_numbers(
        self, stats: TopologyStats, instances: Mapping[str, Sequence[InstanceStats]]
    ) -> None:
        """Statistics for commands after the topology's end; `instances` by component."""
        self._write(LAST_NUMBERS_FILE, {"stats": stats.to_json(), "instances": to_json(instances)})

    def _write(self, name: str, value: dict[str, Any]) -> None:
        if self._folder is None:
            return
        path = os.path.join(self._folder, name)
        try:
            # Atomic, but without a sync: after a power cut the file is not needed.
            with open(f"{path}.new", "w", encoding="utf-8", opener=private) as file:
                file.write(json.dumps(value))  # in C; `dump` encodes in Python
            os.replace(f"{path}.new", path)
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            log.warning("events and counts cannot be written down: %s", error)
