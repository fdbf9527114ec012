"""Dead letters of a bolt that raises where checkpoints are taken."""

from typing import Any

from heron_core.dead_letters import FIELDS
from tests.unit.heron_instance.attempts_support import (
    REFUSED,
    Asking,
    Cluster,
    Prepared,
    Refusing,
    reported_abandoned,
    values_batch,
)
from tests.unit.heron_instance.instance_support import OTHER


def letters_of(bolt: Cluster) -> list[dict[str, Any]]:
    """Those that it has emitted since the topology was restored last."""
    return [dict(zip(FIELDS, each, strict=True)) for each in bolt.letters_of_now]


def test_a_poison_tuple_is_a_letter_once_and_the_run_is_complete() -> None:
    bolt = Cluster(Asking, letters=True)
    bolt.world.refuses = lambda value, call: value == 7
    bolt.tuples(*range(10))
    bolt.checkpoint()
    (letter,) = letters_of(bolt)
    assert letter["values"] == [7, "x"]
    assert (letter["fields"], letter["source"], letter["task"]) == (["value"], "other", OTHER)
    assert (letter["component"], letter["instance"], letter["attempt"]) == (
        "tested",
        "tested[0]",
        4,
    )
    assert letter["exception"] == REFUSED
    assert "in process" in letter["traceback"]
    assert bolt.component.seen == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert bolt.numbers() == (10, 0)
    assert reported_abandoned(bolt) == []  # so its spout gets its acks


def test_many_poison_tuples_in_a_row_are_letters_too() -> None:
    bolt = Cluster(Asking, letters=True)
    bolt.world.refuses = lambda value, call: True
    bolt.tuples(*range(30))
    assert [each["values"][0] for each in letters_of(bolt)] == list(range(30))


def test_a_letter_of_before_a_restore_is_void_and_comes_again() -> None:
    bolt = Cluster(Asking, letters=True)
    bolt.world.refuses = lambda value, call: value == 7
    bolt.tuples(*range(10))
    bolt.restore()
    assert bolt.letters_of_now == []
    bolt.tuples(*range(10))
    assert [each["values"][0] for each in letters_of(bolt)] == [7]


def test_a_tuple_that_only_the_topology_undoes_is_a_letter_with_what_it_raised() -> None:
    bolt = Cluster(Prepared, letters=True)
    bolt.world.refuses = lambda value, call: value == 7
    bolt.tuples(*range(10))
    (letter,) = letters_of(bolt)
    assert (letter["values"], letter["exception"]) == ([7, "x"], REFUSED)


def test_a_tuple_that_a_bolt_fails_by_itself_is_a_letter() -> None:
    bolt = Cluster(Refusing, letters=True)
    bolt.run([values_batch([1], bolt.epoch)])
    (letter,) = letters_of(bolt)
    assert letter["exception"] == "failed by the component"
    assert bolt.numbers() == (1, 0)
