"""Children on the installed pystorm, over JSON and over msgpack."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_api.metrics import CountMetric
from tests.unit.heron_frontends.multilang.multilang_support import Shell

Make = Callable[..., Shell]
CHILDREN = Path(__file__).parent / "pystorm_children.py"

both = pytest.mark.parametrize("serializer", ["json", "msgpack"])


def started(make: Make, name: str, serializer: str = "json") -> Shell:
    shell = make(topology__multilang__serializer=serializer, topology__debug=True)
    shell.config["heronpy.shell.command"] = [sys.executable, str(CHILDREN), name, serializer]
    shell.config["heronpy.shell.environment"] = {"HERONPY_STREAMPARSE": "installed"}
    shell.context.to_storm = lambda: {  # type: ignore[method-assign]
        "taskid": 3, "componentid": "words", "source->stream->fields": {"l": {"default": ["w"]}},
    }  # fmt: skip
    return shell


def give(shell: Shell, *values: Any) -> SimpleNamespace:
    made = SimpleNamespace(component="l", stream="default", task=1, values=list(values))
    shell.component.process(made)
    return made


@both
def test_a_bolt_that_does_everything(bolt: Make, serializer: str) -> None:
    shell, echoes = started(bolt, "Echo", serializer), CountMetric()
    shell.context.register_metric("echoes", echoes, 1)
    shell.start()
    given = give(shell, "Gr\u00fc\u00dfe\nend\n")
    shell.engine.until(lambda: shell.engine.acked)
    assert [(each.values, *each.rest) for each in shell.engine.emitted] == [
        (["Gr\u00fc\u00dfe\nend\n"], "default", [given], None, True),
        ([[7, 8]], "tasks", [], None, False),
        (["direct"], "default", [given], 9, False),
    ]
    assert shell.engine.acked == [given]
    assert echoes.get_value_and_reset() == 1
    lines = "\n".join(shell.engine.lines)
    assert "debug is True in words" in lines
    assert "echoed" in lines
    assert "by logging" in lines
    assert shell.engine.errors == []
    assert shell.counts == {}


@both
def test_an_exception_is_an_error_and_a_fail_and_the_next_child_works(
    bolt: Make, serializer: str
) -> None:
    shell = started(bolt, "Poisoned", serializer).start()
    poisoned = give(shell, "poison")
    shell.engine.until(lambda: shell.counts.get("deaths"))
    assert shell.engine.failed == [poisoned]
    raised, died = shell.engine.errors
    assert "Python ValueError raised while processing Tuple" in raised
    assert "poisoned" in raised
    assert "exited with status 1" in died
    good = give(shell, "good")
    shell.engine.until(lambda: shell.engine.acked)
    assert shell.engine.acked == [good]


@both
def test_a_batch_is_flushed_by_ticks_with_all_its_anchors(bolt: Make, serializer: str) -> None:
    """More tuples than may be pending, none of them acked before the second tick."""
    shell = started(bolt, "Batches", serializer)
    shell.config |= {"topology.shellbolt.max.pending": 5, "topology.tick.tuple.freq.secs": 60}
    shell.start()
    given = [give(shell, word) for word in "abab" * 5]
    shell.component.process_tick(None)
    flight = shell.component._flight
    shell.engine.until(lambda: not flight.has_tick)  # one that is due earlier is left out
    shell.component.process_tick(None)
    shell.engine.until(shell.component.is_idle)
    assert [(each.values, each.rest[1]) for each in shell.engine.emitted] == [
        (["a", 10], given[::2]),
        (["b", 10], given[1::2]),
    ]
    assert shell.engine.acked == [*given[::2], *given[1::2]]
    assert shell.counts == {}, "pystorm acks its ticks twice"


@both
def test_a_reliable_spout_replays_what_fails(spout: Make, serializer: str) -> None:
    shell = started(spout, "Words", serializer).start()
    shell.component.activate()
    for _ in range(4):
        shell.component.next_tuple()
    first, second, third = (each.rest[0] for each in shell.engine.emitted)
    shell.component.ack(first)
    shell.component.fail(second)
    shell.component.ack(third)
    shell.engine.until(shell.component.is_idle)
    assert [each.values for each in shell.engine.emitted] == [["a"], ["b"], ["c"], ["b"]]
    assert shell.engine.emitted[3].rest[0] == second
    acked = [line for line in shell.engine.lines if line.startswith("acked")]
    assert acked == ["acked ['a', 1]", "acked ['c', 1]"]


@both
def test_a_spout_is_activated_and_waits_for_task_ids(spout: Make, serializer: str) -> None:
    shell = started(spout, "Lifecycle", serializer).start()
    shell.component.activate()
    shell.component.next_tuple()
    shell.component.next_tuple()
    shell.component.deactivate()
    assert [each.values for each in shell.engine.emitted] == [["x"], [[7, 8]]] * 2
    assert shell.engine.lines[-1] == "deactivate after 2"
