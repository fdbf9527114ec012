"""A stream manager rests while many small batches come to a full machine, and only then."""

from heron_core import config as keys
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.stream_manager.turn_rests import (
    BATCHES_BUSY,
    REST_SECS,
    TUPLES_SMALL,
    WAITING_SHARE,
    TurnRests,
)

QUICK_SECS = REST_SECS / 10
"""CPU time of a turn."""
BUSY = 2 * BATCHES_BUSY
READ_SECS = 0.1


def rests_of(*turns: int, tuples: int = 1, cpu_secs: float = QUICK_SECS,
             waited_share: float = 1.0, rest_secs: float = REST_SECS) -> list[float]:  # fmt: skip
    """The rests after turns with so many batches of `tuples`, which take `cpu_secs` each, on a
    machine where the stream manager waits for a core for this share of the time."""
    rests = TurnRests(rest_secs)
    rests.read_wait(0.0, 0.0)
    rests.read_wait(READ_SECS, waited_share * READ_SECS)
    found, batches = [], 0
    for number, each in enumerate(turns, 1):
        batches += each
        found.append(rests.after(batches, batches * tuples, number * cpu_secs))
    return found


def test_a_burst_is_followed_by_no_rest() -> None:
    assert rests_of(1000, 1000, 2) == [0.0] * 3


def test_turns_with_a_few_batches_each_are_followed_by_no_rest() -> None:
    assert rests_of(*[BATCHES_BUSY - 1] * 100) == [0.0] * 100


def test_from_the_third_busy_turn_on_there_are_rests() -> None:
    assert rests_of(*[BUSY] * 5) == [0.0, 0.0, REST_SECS, REST_SECS, REST_SECS]


def test_a_turn_that_passes_nothing_on_is_followed_by_no_rest_and_soon_those_with_little() -> None:
    *_, idle, little, _, _, last = rests_of(*[BUSY] * 10, 0, *[1] * 4)
    assert (idle, little, last) == (0.0, REST_SECS, 0.0)


def test_a_turn_that_takes_as_long_as_a_rest_is_followed_by_none() -> None:
    # Or a stream manager that needs a whole core would have less than that.
    assert rests_of(*[BUSY] * 5, cpu_secs=REST_SECS) == [0.0] * 5


def test_batches_that_are_large_already_are_not_waited_for() -> None:
    assert rests_of(*[BUSY] * 5, tuples=TUPLES_SMALL)[-1] == REST_SECS
    assert rests_of(*[BUSY] * 5, tuples=TUPLES_SMALL + 1) == [0.0] * 5
    assert rests_of(*[1000] * 5, tuples=TUPLES_SMALL + 1) == [0.0] * 5


def test_on_a_machine_with_cores_to_spare_there_are_no_rests() -> None:
    assert rests_of(*[BUSY] * 5, waited_share=0.9 * WAITING_SHARE) == [0.0] * 5
    assert rests_of(*[BUSY] * 5, waited_share=1.1 * WAITING_SHARE)[-1] == REST_SECS


def test_where_the_wait_for_a_core_is_not_known_there_are_no_rests() -> None:
    rests = TurnRests()
    for at in range(3):
        rests.read_wait(float(at), None)
    assert [rests.after(BUSY * turn, BUSY * turn, 0.0) for turn in range(1, 6)] == [0.0] * 5


def test_a_topology_whose_tuples_wait_for_nothing_has_no_rests() -> None:
    options = StreamManagerOptions.of({keys.LINGER_MS: 0})
    assert options.rest_secs == 0.0
    assert rests_of(*[BUSY] * 5, cpu_secs=0.0, rest_secs=options.rest_secs) == [0.0] * 5


def test_rests_are_no_longer_than_batches_wait() -> None:
    rest_secs = [StreamManagerOptions.of({keys.LINGER_MS: ms}).rest_secs for ms in (1, 2, 50)]
    assert rest_secs == [0.001, REST_SECS, REST_SECS]
