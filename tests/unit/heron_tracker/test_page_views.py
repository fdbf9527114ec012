"""Content of the pages, without a browser: a search for the cause at three in the morning."""

import pytest

from heron_core.clock_stats import MinimumClockStats
from heron_core.operations import Operation, OperationKind, OperationState, Requester
from heron_core.records import replace
from heron_core.stats import CheckpointStats, ComponentLatencies, LatencyStats
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.topology_events import TopologyEvent
from heron_tracker.envelope import BadRequest
from heron_tracker.heron_api.plans import runtime_state
from heron_tracker.model.history import Point
from heron_tracker.model.problems import problems
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import ProblemKind, TrackerProblem
from heron_tracker.pages import texts
from heron_tracker.pages.actions_view import Action, arguments_of, available, progress
from heron_tracker.pages.cells import BAD, GOOD, WARNING, PageTable, as_row
from heron_tracker.pages.checkpoints_view import checkpoints_page
from heron_tracker.pages.component_view import component_page, fine, heat_map, rate_lines
from heron_tracker.pages.configuration_view import configuration_page
from heron_tracker.pages.containers_view import containers_page
from heron_tracker.pages.flame_view import flame_svg, tree_of
from heron_tracker.pages.flows import critical_path, flows
from heron_tracker.pages.graph_view import (
    COLOURS,
    HEIGHT_LEAST,
    PAUSED,
    chart,
    graph_view,
    positions_of,
    size_of,
)
from heron_tracker.pages.links import is_page
from heron_tracker.pages.links import topology_page as link_to
from heron_tracker.pages.log_view import LINES_MAX, LogTail, first_file
from heron_tracker.pages.overview_view import overview
from heron_tracker.pages.since_view import busy_since
from heron_tracker.pages.topology_view import events_table, topology_page
from tests.unit.heron_tracker.tracker_support import (
    NOTHING,
    NOW,
    PACKING,
    SPEC,
    instance,
    paused,
    snapshot,
    stats,
)

SLOW = {
    "components": {
        "lines": {"emitted_per_sec": 1000.0},
        "split": {"executed_per_sec": 1000.0, "emitted_per_sec": 4000.0, "capacity": 0.3},
        "count": {
            "executed_per_sec": 4000.0, "capacity": 0.97, "queue_secs": 2.0, "queue_tuples": 8000,
            "latency": ComponentLatencies(
                execute=LatencyStats(mean_ms=0.2, p50_ms=0.1, p99_ms=9.0),
                process=NOTHING, complete=NOTHING,
            ),
        },
    },
    "paused": {2: paused("split[0]", "count[0]", 0.4)},
    "instances": {4: {"capacity": 0.97}, 5: {"capacity": 0.97}},
}  # fmt: skip


def slow() -> TopologySnapshot:
    """`count` cannot keep up and pauses `split`."""
    return snapshot(stats(**SLOW))  # type: ignore[arg-type]


def found(of: TopologySnapshot) -> list[tuple[TrackerProblem, float]]:
    assert of.stats is not None
    return [(each, NOW - 42) for each in problems(of.stats)]


def cells(table: PageTable, key: str) -> dict[str, str]:
    """column -> content of a row."""
    (row,) = (each for each in table.rows if each.key == key)
    return {name: cell.text or str(cell.value) for name, cell in row.cells.items()}


def test_the_front_page_names_component_cause_cure_and_since_when() -> None:
    """Topologies with problems come first; a healthy topology is marked."""
    calm = replace(snapshot(stats()), name="calm")
    view = overview([(calm, found(calm)), (slow(), found(slow()))], NOW)
    assert view.sentence == "Something is wrong with 1 of 2 topologies"
    (card,) = view.cards
    assert (card.topology, card.component, card.kind) == ("words", "count", "bottleneck")
    assert "97% busy on 2 instances and pauses `split`" in card.what
    assert "--component-parallelism count:" in card.remedy
    assert card.since.endswith("(42 s)")
    assert card.href == "/ui/topology/words/component/count"
    assert [each.key for each in view.table.rows] == ["words", "calm"]
    row = cells(view.table, "words")
    assert (row["throughput"], row["lag"], row["instances"]) == ("5.00k/s", "2.0 s", "5")
    assert "nothing holds it back" in cells(view.table, "calm")["problem"]


def test_a_topology_without_numbers_says_why_and_comes_before_those_that_run_well() -> None:
    """Its master does not answer."""
    silent = replace(snapshot(), name="silent", trouble="its master does not answer")
    calm = snapshot(stats())
    view = overview([(calm, ()), (silent, ())], NOW)
    assert [each.key for each in view.table.rows] == ["silent", "words"]
    assert cells(view.table, "silent")["problem"] == "its master does not answer"
    assert overview([], NOW).sentence.startswith("No topology is running")
    assert overview([(calm, ())], NOW).tone == GOOD


def test_the_graph_shows_flow_cause_who_waits_and_the_critical_path() -> None:
    """Nodes are as large as their throughput, edges as wide as their flow."""
    at = slow()
    view = graph_view(SPEC, positions_of(SPEC), at.stats, [each for each, _ in found(at)])
    nodes = {each.name: each for each in view.nodes}
    assert nodes["count"].matter == ProblemKind.BOTTLENECK
    assert (nodes["split"].matter, nodes["split"].lines[1]) == (PAUSED, "paused by count[0]")
    assert nodes["count"].size > nodes["split"].size
    edges = {(each.source, each.target): each for each in view.edges}
    assert edges["split", "count"].width > edges["lines", "split"].width
    assert edges["split", "count"].text == "4.00k/s"
    assert all(each.is_critical for each in view.edges)
    assert view.caption == "Critical path: lines → split → count, 2.0 s for a tuple"
    (series,) = chart(view)["series"]
    drawn = {each["name"]: each for each in series["data"]}
    assert drawn["count"]["itemStyle"]["color"] == COLOURS[ProblemKind.BOTTLENECK]


def test_a_graph_without_numbers_or_with_a_cycle_is_drawn_all_the_same() -> None:
    """Just submitted, and a topology whose bolts go round."""
    plain = graph_view(SPEC, positions_of(SPEC), None, [])
    assert plain.caption == ""
    assert {each.size for each in plain.nodes} == {26.0}
    assert chart(plain)["yAxis"]["min"] < chart(plain)["yAxis"]["max"]
    split = SPEC.by_name["split"]
    back = replace(split.inputs[0], component="count")
    cyclic = replace(
        SPEC,
        components=(
            SPEC.components[0],
            replace(split, inputs=(*split.inputs, back)),
            SPEC.components[2],
        ),
    )
    components = slow().components
    assert critical_path(cyclic, components)[0] == ("lines", "split", "count")
    assert flows(cyclic, components)["lines", "split"] == 1000.0
    empty = TopologySpec("t", (ComponentSpec("s", True, "x.S", 1),))
    assert critical_path(empty, {}) == (("s",), 0.0)


def test_a_topology_s_page_says_what_holds_its_minimum_clock() -> None:
    clock = MinimumClockStats(
        clock_ms=7000, behind_secs=42.0, location="trees", holder="count[0]", components={}
    )
    for each, text in (
        (clock, "42 s behind, count[0]"),
        (replace(clock, holder=""), "42 s behind, by no queue"),
        (replace(clock, behind_secs=1.0), "now"),
    ):
        at = snapshot(stats(minimum_clock=each))
        assert dict(topology_page(at, (), NOW).summary)["Minimum clock"] == text
        assert runtime_state(at)["minimum_clock"]["holder"] == each.holder
    assert runtime_state(replace(at, stats=None))["minimum_clock"] is None


def test_a_topology_s_page_has_the_sentence_the_components_and_what_happened() -> None:
    """The user of an operation is among the events."""
    event = TopologyEvent(at=NOW - 5, kind="pause", what="split[0] is paused", why="count[0]")
    at = snapshot(stats(**SLOW, events=(event,)))  # type: ignore[arg-type]
    view = topology_page(at, found(at), NOW)
    assert view.sentence.startswith("`count` is the bottleneck")
    assert dict(view.summary)["Lag"] == "2.0 s"
    assert "Minimum clock" not in dict(view.summary)
    assert dict(view.summary)["Since"].endswith("(42 s)")
    row = cells(view.components, "count")
    assert (row["matter"], row["busy"], row["queue"], row["age"]) == (
        "bottleneck", "97%", "8.00k", "2.0 s",
    )  # fmt: skip
    assert cells(view.components, "split")["matter"] == "paused"
    who = Requester("ada", "here", 7)
    asked = Operation(
        OperationKind.DEACTIVATE,
        {},
        who,
        "2026-11-23T13:00:00+0000",
        OperationState.FAILED,
        reason="no",
    )
    table = events_table(at, {1: asked})
    assert [each.key for each in table.rows] == ["request 1", f"event {NOW - 5} 0"]
    assert cells(table, "request 1")["text"] == "asked by ada on here (pid 7): no"
    assert cells(table, f"event {NOW - 5} 0")["text"] == "split[0] is paused: count[0]"


def test_a_component_s_tasks_stand_side_by_side_and_the_skewed_one_stands_out() -> None:
    """One task has nine tenths of the work."""
    rows = {
        4: {"executed_per_sec": 900.0, "capacity": 0.98, "queue_tuples": 70, "queue_secs": 3.0},
        5: {"executed_per_sec": 100.0, "capacity": 0.1, "stuck_secs": 7.0},
    }
    at = snapshot(stats({"count": {"executed_per_sec": 1000.0, "last_error": "boom"}}, rows))
    view = component_page(at, "count", at.components["count"], found(at), NOW)
    assert "does 90% of the work" in view.sentence
    busy, idle = view.tasks.rows
    assert (busy.cells["share"].text, busy.cells["share"].tone) == ("90%", WARNING)
    assert (busy.cells["age"].text, busy.cells["queue"].text) == ("3.0 s", "70")
    assert (idle.cells["state"].value, idle.cells["state"].tone) == ("stuck", BAD)
    assert view.traceback == "boom"
    shown = as_row(busy)
    assert (shown["share"], shown["share.text"], shown["share.width"]) == (0.9, "90%", "90%")


def test_history_becomes_lines_and_a_heat_map() -> None:
    """Points of five minutes, repeating points of ten seconds, are left out."""
    points = [
        Point("count", 20, 10, {4: {"__execute-count": 50.0, "__capacity": 0.5}}),
        Point("count", 0, 300, {4: {"__execute-count": 999.0}}),
        Point("count", 10, 10, {4: {"__execute-count": 20.0}, 5: {"__execute-count": 10.0}}),
    ]
    (line,) = rate_lines({"count": fine(points)}, "__execute-count")["series"]
    assert line["data"] == [[10_000, 3.0], [20_000, 5.0]]
    options = heat_map(fine(points), {4: "count[0]", 5: "count[1]"}, "__capacity")
    assert options["yAxis"]["data"] == ["count[0]", "count[1]"]
    assert (1, 0, 0.5) in options["series"][0]["data"]


def test_since_when_is_known_though_the_service_was_started_later() -> None:
    """The history of the service before it shows when the bolt became busy."""
    (problem, _), *_rest = found(slow())
    busy = [Point("count", at, 10, {4: {"__capacity": 0.95}, 5: {}}) for at in (140, 150, 160)]
    calm = Point("count", 130, 10, {4: {"__capacity": 0.2}})
    before = Point("count", 120, 10, {4: {"__capacity": 0.99}})
    assert busy_since([before, calm, *busy], problem, 172.0, 0.0) == 140.0
    assert busy_since([*busy], problem, 400.0, 0.0) == 400.0
    assert busy_since([], problem, 172.0, 0.0) == 172.0
    # The first point of a topology submitted at 146 begins before the submit.
    assert busy_since([*busy], problem, 172.0, 146.0) == 146.0
    other = replace(problem, kind=ProblemKind.FAILING)
    assert busy_since(busy, other, 172.0, 0.0) == 172.0


def test_logs_begin_with_a_file_that_is_there() -> None:
    """A topology without events has no file of events."""
    files = ["count-4.log", "scheduler.log", "topology-master.log"]
    assert first_file([*files, "events.log"]) == "events.log"
    assert first_file(files) == "topology-master.log"
    assert first_file(["count-4.log", "a.log"]) == "a.log"
    assert first_file([]) is None


def test_names_of_a_graph_have_more_place_than_labels_with_numbers() -> None:
    """On a phone, and in a long graph, numbers are left to the table."""
    view = graph_view(SPEC, positions_of(SPEC), stats(), [])
    full, narrow = chart(view)["media"]
    labels = [each["label"]["formatter"] for each in narrow["option"]["series"][0]["data"]]
    assert labels == ["lines", "split", "count"]
    assert "\n" in full["option"]["series"][0]["data"][0]["label"]["formatter"]
    width, height = size_of(view)
    assert width < narrow["query"]["maxWidth"]
    assert height == HEIGHT_LEAST


def test_containers_and_configuration_show_processes_and_hide_secrets() -> None:
    """A container that is silent stands out."""
    rows = {4: {"memory_bytes": 3 * 2**20, "cpu_share": 0.5}}
    at = snapshot(stats(instances=rows, containers=(1,)))
    view = containers_page(at)
    assert (cells(view.containers, "1")["state"], cells(view.containers, "2")["state"]) == (
        "up", "silent",
    )  # fmt: skip
    assert cells(view.processes, "count[0]")["memory"] == "3 MiB"
    assert cells(view.processes, "count[0]")["log"] == "count-4.log"
    config = configuration_page(at)
    assert "hunter2" not in str(config)
    assert cells(config.streams, "split default count")["grouping"] == "fields(word)"
    assert "count[0] (task 4)" in cells(config.plan, "2")["instances"]


def test_checkpoints_show_duration_size_and_who_was_late() -> None:
    """A topology without checkpoints names the mode to set."""
    taken = CheckpointStats(
        completed=7, latest=8, failed=1, failure="count[0] was too slow", restored=0, released=True,
        secs=0.25, size_bytes=2048, age_secs=3.0, waiting_for=("count[0]",),
        alignment_ms={"count[0]": 12, "split[0]": 40},
    )  # fmt: skip
    view = checkpoints_page(snapshot(stats(checkpoints=taken)), NOW)
    assert view.sentence == (
        "The last checkpoint failed: count[0] was too slow, waiting for count[0]"
    )
    summary = dict(view.summary)
    assert (summary["Duration"], summary["Size"]) == ("250 ms", "2 KiB")
    assert [each.key for each in view.alignment.rows] == ["split[0]", "count[0]"]
    assert "EFFECTIVELY_ONCE" in checkpoints_page(snapshot(stats()), NOW).sentence


def test_actions_fit_the_state_and_leave_the_requests_of_the_command_line() -> None:
    """A paused topology can be activated; only numbers that change are asked for."""
    at = snapshot(stats())
    assert available(at)[0] is Action.DEACTIVATE
    assert available(snapshot(stats(state="PAUSED")))[0] is Action.ACTIVATE
    assert Action.SAVEPOINT not in available(at)
    assert arguments_of(Action.RESTART, at, {}, "") == {"containers": [0, 1, 2]}
    assert arguments_of(Action.KILL, at, {}, "") == {"wait_secs": 5.0}
    assert arguments_of(Action.SAVEPOINT, at, {}, "folder")["savepoint"] == "folder"
    wanted = arguments_of(Action.RESCALE, at, {"lines": 1, "count": 3.0}, "")["packing"]
    tasks = [x for each in wanted["containers"] for x in each["instances"]]
    assert len(tasks) == len(PACKING.instances) + 1
    with pytest.raises(BadRequest, match="whole number"):
        arguments_of(Action.RESCALE, at, {"count": None}, "")
    assert progress(3, None, "words").is_over


def test_a_log_is_followed_searched_and_begun_again_with_its_file() -> None:
    """Lines come in pieces; a line that is not finished waits."""
    tail = LogTail()
    assert tail.take(100, 9, "one\nERROR ")
    assert tail.take(109, 10, "of a call\n")
    assert not tail.take(119, 0, "")
    assert tail.lines == ["one", "ERROR of a call"]
    assert tail.matching("call error") == ["ERROR of a call"]
    assert tail.matching("") == tail.lines
    assert tail.take(0, 4, "new\n")
    assert tail.lines == ["new"]
    tail.take(4, 9, "x\n" * (LINES_MAX + 5))
    assert len(tail.lines) == LINES_MAX


def test_a_flame_graph_shows_where_the_time_went() -> None:
    """Widths are shares; names cannot be markup."""
    root = tree_of("x;fork_child (p.py:1);main;<lambda> 30\nmain;sleep 10\nno stack\n")
    assert (root.samples, root.below["main"].samples) == (40, 40)
    picture = flame_svg(root)
    assert "&lt;lambda&gt;: 75.0% (30 samples)" in picture
    assert 'width="899.5"' in picture
    assert tree_of("").samples == 0


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (texts.marked("`a<b` is slow"), "<code>a&lt;b</code> is slow"),
        (texts.marked("a ` alone"), "a ` alone"),
    ],
)  # fmt: skip
def test_backticks_are_code(shown: str, expected: str) -> None:
    assert shown == expected


def test_addresses_of_pages_and_of_the_rest_services_differ() -> None:
    """Names are quoted, whatever they contain."""
    assert link_to("a b/c", "logs", file="x.log") == "/ui/topology/a%20b%2Fc/logs?file=x.log"
    pages = ("/", "/ui/topology/words", "/_nicegui/3/static/x.js", "/_nicegui_ws/socket.io/")
    assert all(map(is_page, pages))
    assert not any(map(is_page, ("/topologies", "/metrics", "/api/v1/x", "/docs", "/uix")))
    assert instance(4).instance == "count[0]"
