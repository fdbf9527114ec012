"""A tuple's values by the names of their fields, as users write and mistype them."""

import copy
import pickle
from typing import Any

import pytest

from heron_api.user_errors import users_traceback
from heron_instance.input.tuples import tuple_class
from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology, Tuple
from heronpy_compat.testing import TopologyTester


class Words(Spout):
    outputs = ["word", "count", Stream(fields=["id", "why"], name="errors")]

    def next_tuple(self) -> None:
        self.emit(["storm", 2], tup_id=1)
        self.emit([7, "bad"], tup_id=2, stream="errors")


class Reads(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.seen.append(tup)

    process_tick = process


class Named(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}
    words = Words.spec()
    reads = Reads.spec(
        inputs={words: Grouping.SHUFFLE, words["errors"]: Grouping.SHUFFLE},
        config={"topology.tick.tuple.freq.secs": 1},
    )


@pytest.fixture
def received() -> list[Tuple]:
    """A word, an error, a tick."""
    with TopologyTester(Named) as tester:
        tester.run_spouts(1)
        tester.advance(1)
        seen: list[Tuple] = tester.component("reads")[0].seen
        return seen


def test_by_brackets_and_by_attribute(received: list[Tuple]) -> None:
    word, wrong, _ = received
    assert (word["word"], word["count"], word.values) == ("storm", 2, ["storm", 2])
    assert [word.word, word.count] == ["storm", 2]
    assert word.fields == ("word", "count")
    assert (wrong["why"], wrong.why, wrong["id"]) == ("bad", "bad", 7)
    assert isinstance(wrong.id, str), "what a Tuple has of its own wins"
    assert callable(wrong.count), "no field of this stream, so Python's own"
    assert wrong.index(wrong.component) == 1
    assert isinstance(word, Tuple)


def test_a_bolt_with_one_input_reads_them_fastest() -> None:
    kind = tuple_class({("words", "default"): ("word", "count", "values", "user id")})
    tup = kind((0, "words", "default", 1, ["storm", 2, "three", 4], 0.0, None))
    assert [tup.word, tup.count, tup["values"], tup["user id"]] == ["storm", 2, "three", 4]
    assert tup.values[2] == "three"
    assert tup[1:3] == ("words", "default")
    with pytest.raises(KeyError, match=r"no field 'wrod'; did you mean 'word'\?"):
        tup["wrod"]


@pytest.mark.parametrize("name", ["wrod", "why"])
def test_a_mistyped_attribute_is_reported_with_the_fields_that_there_are(
    received: list[Tuple], name: str
) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(received[0], name)
    last = users_traceback(caught.value).splitlines()[-1]
    assert last.count(f"Tuple of words.default has no field {name!r}; ") == 1


def test_a_name_that_is_no_field(received: list[Tuple]) -> None:
    word, _, tick = received
    with pytest.raises(KeyError, match=r"Tuple of words.default has no field 'wrod'; did you mean"):
        word["wrod"]
    with pytest.raises(AttributeError, match=r"no field 'why'; fields: word, count"):
        _ = word.why
    with pytest.raises(AttributeError, match="'Tuple' object has no attribute 'words'"):
        _ = word.words
    with pytest.raises(
        KeyError, match=r"Tuple of __system.__tick has no field 'word'; fields: none"
    ):
        tick["word"]
    assert tick.fields == ()
    made = Tuple("0", "words", "default", 1, ["storm"])  # as a test of a user's makes one
    assert made.values == ["storm"]
    assert not hasattr(made, "word")


def test_a_tuple_is_shown_copied_and_saved(received: list[Tuple]) -> None:
    word = received[0]
    shown = (
        f"Tuple(id={word.id!r}, component='words', stream='default', task=1, values=['storm', 2])"
    )
    assert repr(word) == shown
    for again in (copy.copy(word), pickle.loads(pickle.dumps(word)), copy.deepcopy(word)):
        assert (again.word, again["count"], again.id) == ("storm", 2, word.id)
    assert word._replace(values=["heron", 3])["word"] == "heron"
