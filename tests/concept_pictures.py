"""Pictures of docs/CONCEPTS.md, drawn from the code: of the word count of the examples, its packing
plan, hashes of its keys, the components that back-pressure pauses, and windows of a few events.
"""

import re
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from heron_core.algorithms.event_windows.assigners import Assigner, Session, Sliding, Tumbling
from heron_core.algorithms.event_windows.values import TimeWindow
from heron_core.algorithms.hashing import slot, stable_hash
from heron_core.config import (
    ATLEAST_ONCE,
    ATMOST_ONCE,
    EFFECTIVELY_ONCE,
    KEYS,
    RELIABILITY_MODE,
)
from heron_core.plans import PackingPlan
from heron_core.topology import GroupingKind, InputSpec, TopologySpec
from heron_engine.scheduler.packing import pack
from heron_engine.stream_manager.upstream import upstream_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "word_count.py"
CONTAINERS = {"topology.stmgrs": 2}
WORDS = ("storm", "heron", "stream", "spout", "bolt", "tuple")
EVENTS = {"a": 2, "b": 7, "c": 12, "d": 13}
"""Name of an event -> its timestamp in seconds."""
SECONDS_SHOWN = 24
WINDOWS: dict[str, Assigner] = {
    "Tumbling(10 s)": Tumbling(10),
    "Sliding(10 s, every 5 s)": Sliding(10, 5),
    "Session(gap 4 s)": Session(4),
}


def example() -> TopologySpec:
    """The word count of the examples."""
    spec = spec_from_file_location("word_count_of_concepts", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    topology: TopologySpec = module.WordCount.to_spec()
    return topology


def flowchart(lines: Sequence[str], direction: str = "LR") -> str:
    """A Mermaid block."""
    return "\n".join(
        ["```mermaid", f"flowchart {direction}", *(f"    {each}" for each in lines), "```"]
    )


def topology_picture() -> str:
    """Components with their parallelism, and the grouping of each stream."""
    topology = example()
    shapes = {True: ('(["', '"])'), False: ('["', '"]')}
    lines = []
    for each in topology.components:
        begin, end = shapes[each.is_spout]
        number = f"{each.parallelism} instance{'s' if each.parallelism > 1 else ''}"
        lines.append(f"{each.name}{begin}{each.label}<br/>{number}{end}")
    for each in topology.components:
        lines += [
            f'{one.component} -- "{grouping_text(one)}" --> {each.name}' for one in each.inputs
        ]
    return flowchart(lines)


def grouping_text(source: InputSpec) -> str:
    """The grouping of an input with its fields."""
    fields = ", ".join(source.grouping.fields)
    return f"{source.grouping.kind.value} {fields}".strip()


def containers_picture() -> str:
    """The processes of the example in two containers."""
    lines = ['subgraph container0["container 0"]', '    master["topology master"]', "end"]
    plan: PackingPlan = pack(example().with_config(CONTAINERS))
    for container in plan.containers:
        manager = f"manager{container.id}"
        lines.append(f'subgraph container{container.id}["container {container.id}"]')
        lines.append(f'    {manager}["stream manager {container.id}"]')
        lines += [
            f'    {manager} <--> task{each.task}["{each.component}, task {each.task}"]'
            for each in container.instances
        ]
        lines.append("end")
    managers = [f"manager{each.id}" for each in plan.containers]
    lines += [f"master <--> {each}" for each in managers]
    lines.append(f"{managers[0]} <--> {managers[1]}")
    return flowchart(lines, "TB")


def groupings_table() -> str:
    """Names of each grouping here, in Storm's Thrift and in Heron's protocol."""
    rows = [f"| {each.value} | {each.of_storm} | {each.of_heron} |" for each in GroupingKind]
    return "\n".join(["| grouping | Storm's Thrift | Heron's protocol |", "|---|---|---|", *rows])


def keys_table() -> str:
    """The index of the task of a few words, among two and among four tasks."""
    rows = [
        f"| {word} | {stable_hash([word]):#010x} | {slot(stable_hash([word]), 2)} |"
        f" {slot(stable_hash([word]), 4)} |"
        for word in WORDS
    ]
    return "\n".join(["| word | hash | of 2 tasks | of 4 tasks |", "|---|---|---|---|", *rows])


def pressure_table() -> str:
    """The components that pause while a component is a cause."""
    rows = [
        f"| {cause} | {', '.join(sorted(paused)) or '-'} |"
        for cause, paused in upstream_of(example()).items()
    ]
    return "\n".join(["| overloaded component | pauses |", "|---|---|", *rows])


def windows_picture() -> str:
    """A time line of events, and below it the windows of each assigner."""
    scale = "".join(f"{second:<5}" for second in range(0, SECONDS_SHOWN, 5))
    events = [" "] * SECONDS_SHOWN
    for name, second in EVENTS.items():
        events[second] = name
    width = max(map(len, WINDOWS))
    lines = [f"{'seconds':{width}}  {scale}", f"{'events':{width}}  {''.join(events)}"]
    for label, assigner in WINDOWS.items():
        rows = rows_of(windows_of(assigner))
        lines += [f"{label if not at else '':{width}}  {row}" for at, row in enumerate(rows)]
    return "\n".join(["```text", *(each.rstrip() for each in lines), "```"])


def windows_of(assigner: Assigner) -> list[TimeWindow]:
    """The windows with an event, by their starts; overlapping sessions are merged."""
    found = {window for second in EVENTS.values() for window in assigner.windows(second)}
    windows: list[TimeWindow] = []
    for start, end in sorted(found):
        is_joined = assigner.merges and windows and start < windows[-1].end_ms
        windows.append(TimeWindow(windows.pop().start_ms if is_joined else start, end))
    return windows


def rows_of(windows: Sequence[TimeWindow]) -> list[str]:
    """Windows as [---), those that overlap in rows of their own; the start may be before 0."""
    rows: list[list[str]] = []
    for window in windows:
        start, end = max(window.start_ms, 0), min(window.end_ms, SECONDS_SHOWN)
        drawn = list(("[" if window.start_ms >= 0 else "-") + "-" * (end - start - 2) + ")")
        row = next((each for each in rows if not "".join(each[start:]).strip()), None)
        if row is None:
            row = [" "] * SECONDS_SHOWN
            rows.append(row)
        row[start:end] = drawn
    return ["".join(row) for row in rows]


def delivery_table() -> str:
    """The modes of reliability with the effect of a failure on a tuple."""
    effects = dict(re.findall(r"`(\w+)` ([^,]+)", KEYS[RELIABILITY_MODE].what))
    counts = {ATMOST_ONCE: "0 or 1", ATLEAST_ONCE: "1 or more", EFFECTIVELY_ONCE: "1"}
    rows = [f"| `{mode}` | {effects[mode]} | {counts[mode]} |" for mode in counts]
    head = ["| mode | a failure | times that a tuple counts |", "|---|---|---|"]
    return "\n".join([*head, *rows])
