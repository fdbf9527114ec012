"""Files in a topology's folder of logs that tell of a run, also when it is over."""

EVENTS_FILE = "events.log"
"""One line for each event (heron_core.topology_events)."""
STATISTICS_FILE = "statistics.json"
"""What a topology master keeps for the one that takes over."""
LAST_NUMBERS_FILE = "last-numbers.json"
"""The answer of `stats` when the topology master ended."""
