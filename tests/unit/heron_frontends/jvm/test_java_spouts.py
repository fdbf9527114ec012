"""JvmSpout and a JVM: turns, outcomes, the end."""

from collections.abc import Callable

from heron_frontends.jvm.spout import JvmSpout
from tests.unit.heron_frontends.jvm.java_support import Half

Make = Callable[..., Half]


def emitted_keys(made: Half) -> list[object]:
    """Those that it has emitted."""
    return [emitted.rest[0] for emitted in made.engine.emitted]


def drive(made: Half, count: int) -> None:
    """Call next_tuple until so many tuples are emitted."""

    def enough() -> bool:
        made.component.next_tuple()
        return len(made.engine.emitted) >= count

    made.engine.until(enough)


def test_a_call_emits_one_tuple_and_asks_for_no_more_than_may_be_pending(half: Make) -> None:
    made = half("any", kind=JvmSpout, topology__max__spout__pending=2).start()
    made.component.activate()
    drive(made, 1)
    assert [emitted.values for emitted in made.engine.emitted] == [["line 1", 2]]
    drive(made, 3)
    assert emitted_keys(made) == [1, 2, 3]


def test_outcomes_reach_it_and_what_failed_comes_again(half: Make) -> None:
    made = half("any", kind=JvmSpout).start()
    drive(made, 3)
    made.component.ack(1)
    made.component.fail(2)
    assert made.engine.reopened == 1
    drive(made, 4)
    assert emitted_keys(made) == [1, 2, 3, 2]
    assert made.engine.finished == 0
    made.component.ack(2)
    made.component.ack(3)

    def finished() -> bool:
        made.component.next_tuple()
        return made.engine.finished > 0

    made.engine.until(finished)


def test_outcomes_are_told_without_a_further_call(half: Make) -> None:
    made = half("any", kind=JvmSpout).start()
    drive(made, 3)
    made.component.ack(1)
    assert not made.component.is_idle()
    made.engine.until(made.component.is_idle)


def test_it_is_told_whether_the_topology_runs(half: Make) -> None:
    made = half("any", kind=JvmSpout).start()
    made.component.activate()
    made.component.deactivate()
    made.engine.until(lambda: {"activate", "deactivate"} <= set(made.context.metrics))


def test_an_emit_that_fails_fails_for_the_class(half: Make) -> None:
    made = half("any", kind=JvmSpout).start()
    made.engine.refuses = "no"
    made.component.next_tuple()
    made.engine.until(lambda: made.engine.errors or made.component.next_tuple())
    made.engine.refuses = None
    drive(made, 3)
    assert emitted_keys(made)[-1] == 1
