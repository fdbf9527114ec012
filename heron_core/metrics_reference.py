"""The reference of numbers, docs/METRICS.md, made from the fields of the instance report.

`python -m heron_core.metrics_reference > docs/METRICS.md` writes it again.
"""

from collections.abc import Iterable, Iterator

from heron_core.instance_report import DISTRIBUTIONS, TOTALS, Measure, MeasureKind, measures_of
from heron_core.instance_series import latency_series
from heron_core.query_counts import MEANINGS
from heron_core.stats import ComponentStats, InstanceStats

_HEAD = """# Numbers

The numbers of each instance, generated from the fields of `heron_core/instance_report.py` and
`heron_core/stats.py`. [CLI.md](CLI.md#numbers) has the columns of `heronpy stats`, and the rest of
its JSON.

- *Name*: the key in `stats --json`, of an instance and, where it has the number, of a component.
- *Kind*: a counter of an instance counts from the start of its process, and never falls; a net
  count falls when a restore or a replay takes back earlier counts; a level is the present value.
- *Component*: the function that combines the instances' numbers into the component's. The sum of a
  counter includes ended processes, so the sum never falls. Numbers that a restore takes back
  describe the outcome of tuples, and decide the exit code: an ended process contributes the counts
  covered by the newest completed checkpoint. The remaining numbers describe work, and repeated work
  counts twice.
- *Heron*: the name in Heron's tracker and in the history of `heronpy ui`; counters by stream are
  `__emit-count/STREAM` and `__execute-count/COMPONENT/STREAM`.
- *OpenMetrics*: the name behind `heron_instance_`; with a * behind `heron_component_`, too. Net
  counts are gauges there: Prometheus takes a falling counter for a reset, and its `rate` would add
  the whole value once more. Alert on their value (`heron_component_undeclared_tuples >
  0`), and use `heron_component_errors_total` for rates.

| name | kind | component | Heron | OpenMetrics | |
|---|---|---|---|---|---|
"""


_TAIL = """
Durations are distributions: the sum, the number, and a histogram whose buckets are 19 % apart.
A component's distribution joins its instances', ended processes included, and percentiles are of
the last minute (on Spark since the start): `latency` in JSON (`mean_ms`,
`p50_ms`, `p99_ms`, `buckets`), in OpenMetrics `heron_component_duration_seconds` and
`heron_component_latency_seconds`.

| duration | history | |
|---|---|---|
"""

_ALERTS = """
Further metrics for alerts, in OpenMetrics alone:

| metric | |
|---|---|
"""
_OF_ALERTS = {
    "heron_topology_problems": "Problems of a kind, by component and cause; 0 for a kind without",
    "heron_component_processes_total": "Processes that have reported: a restart is one more",
    "heron_component_silent_seconds": "Of a spout that has not finished: since it emitted last",
    "heron_component_queue_seconds": "Age of its backlog: how long its slowest instance needs",
    "heron_component_watermark_timestamp_seconds": "Of its slowest instance; `time()` less this"
    " is the lag",
    "heron_component_watermark_wait_seconds": "For how long the source that holds it has sent"
    " nothing",
    "heron_topology_minimum_clock_timestamp_seconds": "All that began before is finished, in any"
    " topology; `time()` less this is the age of the oldest tuple in flight",
    "heron_component_minimum_clock_timestamp_seconds": "The same for what came to a component; the"
    " lowest one is where the topology waits",
    "heron_component_late_dropped_tuples": "Too late for a window, and no stream got them; a"
    " restore takes some back",
    "heron_component_dead_letters_total": "Tuples that were abandoned and are dead letters now",
    "heron_checkpoint_age_seconds": "Since the newest complete one began",
    "heron_checkpoint_failures_total": "Failed ones since the topology master serves",
    "heron_checkpoint_spilled_states_total": "States that no container could hold in memory, and "
    "that were written to the checkpoint store (`topology.stateful.backup`)",
    "heron_checkpoint_roll_backs_total": "Restores of a checkpoint in the store, because all "
    "containers have lost a newer one in memory",
    "heron_user_count_total": "What user code counts, by `name` and `key`, of all processes",
    "heron_user_metric": "All else that user code registered; counts of tuples that a restore"
    " lowers are here",
    "heron_left_out_values": "What is not told, by `what` and `reason`: user metrics above 200 a"
    " topology or without a finite number, instances and peers above 5,000",
}

_QUERIES = """
[Live queries](QUERIES.md#live-queries) are counted by the topology master since it began, and by
each stream manager, with its instances, for the questions about one key that a client sends there:
a line of `heronpy stats`, `live_queries` in JSON, where 0 is left out, and, but for `asked`,
`heron_topology_live_queries_total` with the label `outcome` in OpenMetrics.

| outcome | |
|---|---|
"""


def markdown() -> str:
    """The page."""
    rows = [_row(*each) for each in measures_of(InstanceStats).items()]
    durations = [_duration(*each) for each in DISTRIBUTIONS.items()]
    queries = [(f"`live_queries.{name}`", what) for name, what in MEANINGS.items()]
    alerts = [(f"`{name}`", what) for name, what in _OF_ALERTS.items()]
    parts = ((_HEAD, rows), (_TAIL, durations), (_QUERIES, queries), (_ALERTS, alerts))
    return "".join(head + _table(table) for head, table in parts)


def _table(rows: Iterable[Iterable[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _duration(name: str, what: str) -> Iterator[str]:
    yield f"`{name}`"
    yield ", ".join(f"`{each}`" for each in latency_series(name))
    yield what


def _row(name: str, measure: Measure) -> Iterator[str]:
    yield f"`{name}`"
    yield measure.kind.value
    yield measure.summed.value
    yield f"`{measure.heron}`" if measure.heron else ""
    yield _in_open_metrics(name, measure)
    yield f"{measure.what}{'; ' if measure.more else ''}{measure.more}"


def _in_open_metrics(name: str, measure: Measure) -> str:
    if not measure.metric:
        return ""
    of_component = measures_of(ComponentStats).get(name)
    is_in_both = of_component is not None and of_component.summed in TOTALS
    suffix = "_total" if measure.kind is MeasureKind.COUNTER else ""
    return f"`{measure.metric}{suffix}`{' *' if is_in_both else ''}"


if __name__ == "__main__":
    print(markdown(), end="")
