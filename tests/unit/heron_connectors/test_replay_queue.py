"""When a source emits again what failed."""

import itertools
import pickle

from heron_connectors.replay_queue import ReplayQueue
from heron_core.algorithms.retries import PAUSE_SECS_MAX, RetryPolicy


def queue(most: int = 0) -> ReplayQueue[str]:
    return ReplayQueue.of({"topology.replay.max": most})


def test_what_failed_because_a_process_died_comes_again_at_once() -> None:
    made = queue()
    for tup_id in ("a", "b"):
        assert made.failed(tup_id, 5.0) == 0
    assert [made.take(5.0), made.take(5.0), made.take(5.0)] == ["a", "b", None]


def test_a_poison_tuple_comes_ever_more_rarely_and_never_before_the_others() -> None:
    made, now, pauses = queue(), 0.0, []
    for _ in range(14):
        made.failed("poison", now)
        since = now
        while made.take(now) is None:
            now += 0.05
        pauses.append(round(now - since, 1))
    assert pauses[:5] == [0.0, 0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == PAUSE_SECS_MAX
    made.failed("poison", now)
    made.failed("new", now)
    assert made.take(now) == "new"
    assert len(made) == 1


def test_a_tuple_that_was_acked_begins_anew() -> None:
    made = queue(most=1)
    made.failed("a", 0.0)
    made.take(0.0)
    made.acked("a")
    assert made.failed("a", 0.0) == 0


def test_a_tuple_is_abandoned_after_so_many_replays() -> None:
    made = queue(most=2)
    assert [made.failed("a", 0.0) for _ in range(3)] == [0, 0, 3]
    assert made.failed("b", 0.0) == 0


def test_another_process_replays_all_at_once() -> None:
    made = queue()
    for _ in range(3):
        made.failed("a", 1e9)
    again = pickle.loads(pickle.dumps(made))
    assert [again.take(0.0) for _ in range(3)] == ["a", "a", "a"]


def test_a_queue_of_0_1_0_goes_on_in_its_order() -> None:
    made = queue()
    made.add(["a", "b"])
    old = queue()
    old.__setstate__({**vars(made), "_order": itertools.count(2)})
    old.add(["c"])
    assert [old.take(0.0) for _ in range(3)] == ["a", "b", "c"]


def test_what_is_anothers_is_forgotten() -> None:
    made = queue()
    made.add(["a", "b"])
    made.retain(lambda tup_id: tup_id == "b")
    assert [made.take(0.0), made.take(0.0)] == ["b", None]


def test_an_endless_policy_never_abandons() -> None:
    assert RetryPolicy(0, 0.1, is_endless=True).pause_secs(10**9) == PAUSE_SECS_MAX
    assert RetryPolicy(2, 0.1).pause_secs(3) is None
