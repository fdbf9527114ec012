"""What topologies use besides words: types of values, streams, ticks, hooks, serializers, names."""

import shutil
from pathlib import Path

import pytest

from tests.process.process_support import EXAMPLES, TOPOLOGIES, Master, Place

TICK_SECS = 0.05
AT_MOST, AT_LEAST = "ATMOST_ONCE", "ATLEAST_ONCE"


@pytest.mark.parametrize("mode", [AT_MOST, AT_LEAST])
def test_values_keep_their_python_types(place: Place, mode: str) -> None:
    """A tuple stays a tuple, a set a set, a Decimal exact, over two hops and two containers."""
    place.heronpy(
        *("run", TOPOLOGIES / "values.py", "--containers", 2),
        *("-o", f"topology.reliability.mode={mode}"),
    ).succeeded()
    (found,) = place.results_of("compare").values()
    assert found["changed"] == []
    assert found["same"] == 32


def test_a_topology_may_bring_its_own_serializer(place: Place) -> None:
    """topology.serializer.classname names a class in the user's file: each value goes through."""
    place.heronpy("run", TOPOLOGIES / "serializing.py").succeeded()
    (rows,) = place.results_of("keep").values()
    assert [[each["value"] for each in row] for row in rows] == [["a", 1], ["b", [2, 3]]]
    assert {each["mark"] for row in rows for each in row} == {"marked"}


def test_ticks_arrive_on_time_without_tuples(place: Place) -> None:
    """A bolt that flushes every 50 ms gets its ticks even with hardly any input."""
    place.heronpy("run", TOPOLOGIES / "ticking.py").succeeded()
    (found,) = place.results_of("clock").values()
    times = [each[0] for each in found["ticks"]]
    assert found["tuples"] == 1
    assert 4 <= len(times) <= 30
    # A late tick on a busy machine may be close to the next, but ticks never outrun the clock.
    assert (times[-1] - times[0]) / TICK_SECS > len(times) - 3
    assert found["ticks"][0][1:] == ["__system", "__tick", None]
    (without,) = place.results_of("without").values()
    assert without == {"ticks": [], "tuples": 1}


def test_task_hooks_see_every_call(place: Place) -> None:
    """Hooks named in the config and a hook added in initialize: 10 tuples, including a
    failed one."""
    place.heronpy("run", TOPOLOGIES / "hooked.py").succeeded()
    found = place.results()
    spout, moody, last = (found[f"hook-{name}-Recorder"] for name in ("numbers", "moody", "last"))
    assert {key: spout[key] for key in ("prepare", "emit default", "spout_ack", "spout_fail")} == {
        "prepare": 1,
        "emit default": 11,
        "spout_ack": 10,
        "spout_fail": 1,
    }
    assert all(0 < each < 60_000 for each in spout["ms"])
    for hook in (moody, found["hook-moody-Added"]):
        assert hook["prepare"] == hook["clean_up"] == hook["bolt_fail"] == 1
        assert hook["bolt_execute"] == 11
        assert hook["bolt_ack"] == hook["emit default"] == 10
    assert last["bolt_execute"] == last["bolt_ack"] == 10
    assert "hook-last-Added" not in found
    assert len({each["pid"] for each in (spout, moody, last)}) == 3


def test_streams_of_one_bolt_have_readers_of_their_own(place: Place) -> None:
    """The example sorts entries onto two streams; each reader gets its kind and nothing else."""
    finished = place.heronpy("run", EXAMPLES / "multi_stream.py", "--containers", 2).succeeded()
    assert sorted(line.partition("| ")[2] for line in finished.out.splitlines()) == [
        "numbers: 30, the largest is 2026",
        "words: 40, the largest is storm",
    ]


def test_custom_grouping_of_the_example_chooses_the_task(place: Place) -> None:
    """A grouping class in the user's file decides in the emitting process, on two containers."""
    finished = place.heronpy("run", EXAMPLES / "custom_grouping.py", "--containers", 2).succeeded()
    shelves = sorted(line.partition(": ")[2] for line in finished.out.splitlines())
    assert shelves == ["anchor bolt heron", "spout storm topology tuple zookeeper"]


USERS_FILES = {
    "scheduler.py": "def plan(number):\n    return f'the user plans {number}'\n",
    "stream_manager.py": "LIMIT = 3\n",
    "topology.py": """
import scheduler
import stream_manager
from heronpy_compat import Bolt, Spout, Topology

class Numbers(Spout):
    outputs = ["number"]
    def initialize(self, config, context):
        self.numbers = iter(range(stream_manager.LIMIT))
    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        else:
            self.emit([number])

class Plan(Bolt):
    def process(self, tup):
        from stream_manager import LIMIT
        print(scheduler.plan(tup.values[0]), 'of', LIMIT)
        self.ack(tup)

class Mine(Topology):
    numbers = Numbers.spec()
    plan = Plan.spec(inputs=[numbers])
""",
}


def test_users_modules_may_be_called_like_ours(place: Place) -> None:
    """Somebody's project has a scheduler.py and a stream_manager.py; the bolts import both."""
    project = place.path / "project"
    project.mkdir()
    for name, text in USERS_FILES.items():
        (project / name).write_text(text)
    finished = place.heronpy("run", project / "topology.py").succeeded()
    assert finished.out.splitlines() == [
        f"plan[0] | the user plans {number} of 3" for number in range(3)
    ]


def test_a_file_in_a_directory_with_blanks_is_run_from_elsewhere(place: Place) -> None:
    """The file is given by a relative path with a blank and umlauts; instances import it too."""
    project = place.path / "Eigene Dateien ä"
    project.mkdir()
    shutil.copy(EXAMPLES / "multi_stream.py", project)
    relative = Path(project.name) / "multi_stream.py"
    assert "numbers: 30" in place.heronpy("run", relative).succeeded().out


def test_a_temporary_directory_with_a_long_path(place: Place) -> None:
    """A build server's TMPDIR is longer than the path of a socket may be."""
    long = place.path / ("temporary-" * 9)
    long.mkdir()
    place.environment["TMPDIR"] = str(long)
    place.heronpy("run", EXAMPLES / "at_least_once.py").succeeded()


def test_a_call_that_does_not_return_is_reported_with_its_stack(place: Place) -> None:
    """The bolt is busy, not dead: the run continues, and log and stats show the stack."""
    running = place.start(
        *("run", TOPOLOGIES / "stuck.py", "-o", "topology.stuck.report.secs=0.2"),
        *("-o", "topology.metrics.interval.ms=100"),
    )
    with Master(place.store_url, "StuckForAMinute") as master:
        running.until(lambda: (stats := master.stats()) and stats.stuck, "the report")
        stats = master.stats()
    assert stats is not None
    assert list(stats.stuck) == ["stuck[0]"]
    (told,) = [each for each in stats.events if each.kind == "stuck"]
    assert (told.instance, told.task) == ("stuck[0]", 2)
    (log,) = place.logs("StuckForAMinute").glob("*stuck*.log")
    assert "time.sleep(60)" in log.read_text("utf-8")
    running.signal()
    running.until(lambda: "waiting for stuck[0] (in one call for" in running.err, "it is named")
    running.signal()
    assert "still in flight, and discarded" in running.wait().err.splitlines()[-1]


def test_all_that_a_component_prints_arrives_and_what_it_logs_on_stderr(place: Place) -> None:
    """`heronpy run topology.py > file`, with 65 MB of lines, some longer than a pipe holds."""
    done = place.heronpy("run", TOPOLOGIES / "chatty.py").succeeded()
    printed = [f"{number} {'x' * (number * 997 % 90_000)}" for number in range(1500)]
    expected = [f"printer[0] | {line}" for line in [*printed, "without an end"]]
    assert done.out.splitlines() == expected
    shown = [line for line in done.err.splitlines() if line.startswith("printer[0] |")]
    assert shown == ["printer[0] | WARNING said aloud", "printer[0] | to stderr"]
