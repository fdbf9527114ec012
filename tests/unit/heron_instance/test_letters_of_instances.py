"""Letters of what an instance abandons, where no checkpoints are taken."""

from array import array
from typing import Any

import pytest

from heron_core.dead_letters import ERRORS, FIELDS, STREAM
from heron_core.topology import StreamSpec
from heron_core.wire.frames import Flag, FrameKind, header
from heron_instance.emit.dead_letters import TRACEBACK_CHARACTERS
from heronpy_compat import BatchBolt
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Comfortable,
    Made,
    Middle,
    Source,
    batch,
    body_of,
    make,
    reads,
)

OUTPUTS = (StreamSpec("default", ("a", "b")), STREAM)


def made(kind: type, tracked: bool, **config: Any) -> Made:
    """Task 1, whose stream `errors` is read."""
    options = {key.replace("_", "."): each for key, each in config.items()}
    return make(kind, reads(SHUFFLE, ERRORS), outputs=OUTPUTS, tracked=tracked, config=options)


def letters_of(instance: Made) -> list[dict[str, Any]]:
    found = [values for _, values in instance.emitted() if len(values) == len(FIELDS)]
    return [dict(zip(FIELDS, each, strict=True)) for each in found]


class RefusesBatches(BatchBolt):
    def process_batch(self, batch: Any) -> None:
        raise ValueError("not one of them")


def refuse(tup: Any) -> None:
    if tup["value"] == "bad":
        raise ValueError("half a value")


def test_at_most_once_what_raises_is_a_letter_at_once() -> None:
    bolt = made(Comfortable, tracked=False)
    bolt.component.script = refuse
    bolt.core.deliver(batch(["good"], ["bad"], ["good"]))
    (letter,) = letters_of(bolt)
    assert letter["values"] == ["bad"]
    assert letter["exception"] == "ValueError: half a value"
    assert "in refuse" in letter["traceback"]
    assert (letter["source"], letter["stream"], letter["task"]) == ("other", "default", OTHER)
    assert (letter["fields"], letter["attempt"], letter["instance"]) == (["value"], 1, "tested[0]")
    statistics = bolt.core.statistics()
    assert (statistics.failed, statistics.failed_for_good) == (1, 0)


def test_without_a_reader_it_has_failed_for_good() -> None:
    bolt = make(Comfortable, tracked=False)
    bolt.component.script = refuse
    bolt.core.deliver(batch(["bad"]))
    assert bolt.core.statistics().failed_for_good == 1


def test_at_least_once_a_tuple_comes_again_before_it_is_a_letter_and_acked() -> None:
    bolt = made(Comfortable, tracked=True, topology_bolt_retries=2)
    bolt.component.script = refuse
    for root in (1, 2):
        bolt.core.deliver(batch(["bad"], roots=[(root, 5)]))
    assert letters_of(bolt) == []
    assert bolt.words_of(FrameKind.FAIL) == [1, 2]
    bolt.core.deliver(batch(["bad"], roots=[(3, 5)]))
    (letter,) = letters_of(bolt)
    assert letter["attempt"] == 3
    bolt.core.outbox.flush_acks()
    acks = bolt.words_of(FrameKind.ACK)
    assert acks[0] == 3
    assert acks[1] != 5  # the letter is anchored: it has an edge of the same root
    assert bolt.words_of(FrameKind.FAIL) == [1, 2]


def test_who_gives_nothing_up_makes_no_letter_of_what_comes_again() -> None:
    bolt = made(Comfortable, tracked=True, topology_bolt_on_exception="restart")
    bolt.component.script = refuse
    for root in range(1, 10):
        bolt.core.deliver(batch(["bad"], roots=[(root, 5)]))
    assert letters_of(bolt) == []


def test_a_tuple_that_was_acked_before_makes_no_letter() -> None:
    bolt = made(Middle, tracked=True, topology_bolt_retries=0)

    def ack_and_fail(tup: Any) -> None:
        bolt.component.ack(tup)
        bolt.component.fail(tup)

    bolt.component.script = ack_and_fail
    bolt.core.deliver(batch(["bad"], roots=[(3, 5)]))
    assert letters_of(bolt) == []


def test_a_bolt_that_fails_a_tuple_by_itself_tells_what_it_caught() -> None:
    bolt = made(Middle, tracked=False)

    def catch(tup: Any) -> None:
        try:
            refuse(tup)
        except ValueError:
            bolt.component.fail(tup)
            raise

    bolt.component.script = catch
    bolt.core.deliver(batch(["bad"]))
    (letter,) = letters_of(bolt)  # one, though it was failed twice
    assert letter["exception"] == "ValueError: half a value"


def test_the_values_are_whole_and_the_traceback_has_a_limit() -> None:
    bolt = made(Comfortable, tracked=False)

    def raise_long(tup: Any) -> None:
        raise ValueError("x" * 10 * TRACEBACK_CHARACTERS)

    bolt.component.script = raise_long
    value = "v" * 1_000_000
    bolt.core.deliver(batch([value]))
    (letter,) = letters_of(bolt)
    assert letter["values"] == [value]
    assert len(letter["traceback"]) == TRACEBACK_CHARACTERS


@pytest.mark.parametrize(("room", "letters"), [(3_000, 1), (500, 0)])
def test_a_letter_that_is_too_long_goes_without_traceback_or_counts(
    room: int, letters: int
) -> None:
    bolt = made(Comfortable, tracked=False, topology_message_bytes_max=2_000 + room)

    def raise_long(tup: Any) -> None:
        raise ValueError("long\n" + "y" * 5_000)

    bolt.component.script = raise_long
    bolt.core.deliver(batch(["v" * 2_000]))
    found = letters_of(bolt)
    assert len(found) == letters
    assert bolt.core.statistics().failed_for_good == 1 - letters
    assert all(each["traceback"] == "" for each in found)
    if not letters:
        assert "a tuple that is abandoned makes no dead letter" in bolt.errors[-1]


def test_a_source_that_emits_a_tuple_no_more_makes_a_letter_of_it() -> None:
    spout = made(Source, tracked=True)
    taken = spout.component.delegate.abandon_emitted("id", ["a", 1], 5)
    assert taken
    (letter,) = letters_of(spout)
    assert (letter["source"], letter["component"]) == ("tested", "tested")
    assert (letter["fields"], letter["values"]) == (["a", "b"], ["a", 1])
    assert letter["attempt"] == 5
    assert "topology.replay.max" in letter["exception"]


def test_a_source_without_a_reader_of_letters_is_told_so() -> None:
    spout = make(Source)
    assert not spout.component.delegate.abandon_emitted("id", ["a", 1], 5)


def test_a_row_of_a_batch_is_a_letter_with_the_values_that_a_tuple_has() -> None:
    """So that it can be emitted again: a map is a dict."""
    types = ("map<string,int>",)
    bolt = make(RefusesBatches, reads(SHUFFLE, ERRORS), outputs=OUTPUTS, types=types, tracked=False)
    bolt.core.deliver(batch([{"x": 1}]))
    assert [letter["values"] for letter in letters_of(bolt)] == [[{"x": 1}]]


def test_a_row_that_is_not_a_column_is_a_letter() -> None:
    bolt = make(RefusesBatches, reads(SHUFFLE, ERRORS), outputs=OUTPUTS, tracked=False)
    bolt.core.deliver(batch([[1, "x"]]))
    assert [letter["values"] for letter in letters_of(bolt)] == [[[1, "x"]]]


def test_a_tuple_that_is_acked_is_no_letter_though_neighbours_of_its_root_are_open() -> None:
    bolt = made(Middle, tracked=True, topology_bolt_retries=0)
    head = header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 2, 0, Flag.TRACKED | Flag.RUNS)
    run = array("Q", [1, 5]).tobytes(), array("I", [2]).tobytes()
    bolt.core.deliver([head, body_of([["a"], ["b"]]), *run])
    first, second = bolt.component.received
    bolt.component.ack(first)
    bolt.component.fail(first)
    assert letters_of(bolt) == []
    bolt.component.fail(second)
    assert [each["values"] for each in letters_of(bolt)] == [["b"]]
