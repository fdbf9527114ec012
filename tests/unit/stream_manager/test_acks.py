"""XOR trees and their expiry (tests/property has them against a plain model)."""

from array import array

from heron_engine.stream_manager.acks import Trees

BUCKETS = 3


def pairs(*numbers: int) -> "array[int]":
    return array("Q", numbers)


def test_chain_of_two_bolts() -> None:
    # spout -a-> split -b, c-> count: done when the last of the three is acked, in any order.
    trees = Trees(BUCKETS)
    a, b, c = 11, 22, 44
    trees.begin(pairs(1, a))
    trees.apply(pairs(1, b))
    trees.apply(pairs(1, a ^ b ^ c))
    assert not trees.take_done()
    trees.apply(pairs(1, c))
    assert trees.take_done() == pairs(1)
    assert not trees.take_done()
    assert len(trees) == 0
    assert trees.unknown == 0


def test_ack_after_the_end_is_counted_only() -> None:
    # A bolt acks a tuple whose tree has expired or failed: normal with replays, no error.
    trees = Trees(BUCKETS)
    trees.begin(pairs(1, 5))
    assert trees.fail(pairs(1)) == pairs(1)
    trees.apply(pairs(1, 5))
    assert not trees.take_done()
    assert not trees.fail(pairs(1))
    assert trees.unknown == 2


def test_root_zero_is_no_root() -> None:
    # In a batch that begins trees the untracked tuples have the pair (0, 0).
    trees = Trees(BUCKETS)
    trees.begin(pairs(0, 0, 7, 1))
    assert len(trees) == 1


def test_giving_up_returns_every_root() -> None:
    trees = Trees(BUCKETS)
    trees.begin(pairs(1, 5))
    trees.rotate()
    trees.begin(pairs(2, 6))
    assert sorted(trees.clear()) == [1, 2]
    assert len(trees) == 0
    assert all(not trees.rotate() for _ in range(BUCKETS + 1))
