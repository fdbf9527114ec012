"""Groupings: a tuple's task among the readers' tasks 2, 3 (local container), 4 and 5."""

from collections import Counter

import pytest

from heron_core.errors import ComponentError
from heron_core.topology import GroupingKind, GroupingSpec, InputSpec, StreamSpec
from tests.unit.heron_instance.instance_support import (
    FIRST_READER,
    READERS,
    Made,
    Middle,
    Source,
    grouped,
    make,
    reads,
)

ALL_READERS = list(range(FIRST_READER, FIRST_READER + READERS))


def spread(made: Made, count: int) -> Counter[int]:
    """Emit `count` different tuples; task -> number of tuples."""
    for number in range(count):
        made.component.emit([f"key-{number}", number])
    return Counter(task for task, _ in made.emitted())


@pytest.mark.parametrize("kind", [GroupingKind.SHUFFLE, GroupingKind.NONE])
@pytest.mark.parametrize("count", [7, 8, 400])
def test_shuffle_is_even_to_one_tuple(kind: GroupingKind, count: int) -> None:
    found = spread(make(Source, reads(grouped(kind))), count)
    assert sum(found.values()) == count
    assert max(found.values()) - min(found[task] for task in ALL_READERS) <= 1


def test_emitters_do_not_all_begin_with_the_same_task() -> None:
    # A hundred spouts with one tuple each would all hit the first bolt.
    firsts = {next(iter(spread(make(Source, reads(grouped(GroupingKind.SHUFFLE)), seed=seed), 1)))
              for seed in range(20)}  # fmt: skip
    assert len(firsts) > 1


def test_local_or_shuffle_stays_in_the_container() -> None:
    found = spread(make(Source, reads(grouped(GroupingKind.LOCAL_OR_SHUFFLE))), 100)
    assert found == {2: 50, 3: 50}


def test_fields_keep_a_key_in_one_task_and_use_all_tasks() -> None:
    made = make(Source, reads(grouped(GroupingKind.FIELDS, "a")))
    for number in range(600):
        made.component.emit([number % 100, number])
    tasks: dict[int, set[int]] = {}
    for task, (key, _) in made.emitted():
        tasks.setdefault(key, set()).add(task)
    assert all(len(each) == 1 for each in tasks.values())
    assert set.union(*tasks.values()) == set(ALL_READERS)


def test_equal_keys_of_different_types_meet() -> None:
    # One spout reads 1 out of JSON, another 1.0 out of a CSV, a third True.
    made = make(Source, reads(grouped(GroupingKind.FIELDS, "a")))
    for key in (1, 1.0, True, [1], (1,), [1.0]):
        made.component.emit([key, 0])
    tasks = [task for task, _ in made.emitted()]
    assert len(set(tasks[:3])) == 1
    assert len(set(tasks[3:])) == 1


def test_several_fields_and_their_order() -> None:
    made = make(Source, reads(grouped(GroupingKind.FIELDS, "b", "a")))
    other = make(Source, reads(grouped(GroupingKind.FIELDS, "a", "b")))
    for number in range(64):
        made.component.emit([number, f"x{number}"])
        other.component.emit([f"x{number}", number])
    assert [task for task, _ in sorted(made.emitted(), key=lambda each: each[1][0])] == [
        task for task, _ in sorted(other.emitted(), key=lambda each: each[1][1])
    ]


def test_a_key_that_cannot_be_grouped_by_is_named() -> None:
    made = make(Source, reads(grouped(GroupingKind.FIELDS, "a")))
    with pytest.raises(ComponentError, match=r"tested\.default grouped by a for readers: .*object"):
        made.component.emit([object(), 1])
    assert made.emitted() == []


def test_partial_key_uses_two_tasks_and_balances_a_hot_key() -> None:
    # One key makes up all traffic: two tasks share it, evenly.
    made = make(Source, reads(grouped(GroupingKind.PARTIAL_KEY, "a")))
    per_key: dict[str, Counter[int]] = {}
    for number in range(400):
        for key in ("hot", "cold", "third"):
            made.component.emit([key, number])
    for task, (key, _) in made.emitted():
        per_key.setdefault(key, Counter())[task] += 1
    assert all(len(each) <= 2 for each in per_key.values())
    hot = spread_of(make(Source, reads(grouped(GroupingKind.PARTIAL_KEY, "a"))), "hot")
    if len(hot) == 2:
        assert max(hot.values()) - min(hot.values()) <= 1


def spread_of(made: Made, key: str) -> Counter[int]:
    """Where 400 tuples of one key go."""
    for number in range(400):
        made.component.emit([key, number])
    return Counter(task for task, _ in made.emitted())


def test_partial_key_splits_most_keys() -> None:
    grouping = reads(grouped(GroupingKind.PARTIAL_KEY, "a"))
    split = [len(spread_of(make(Source, grouping), f"key-{number}")) for number in range(8)]
    assert split.count(2) >= 4


def test_all_goes_everywhere_once_a_container() -> None:
    made = make(Source, reads(grouped(GroupingKind.ALL)))
    assert spread(made, 3) == dict.fromkeys(ALL_READERS, 3)
    assert [each.targets for each in made.batches()] == [[2, 3], [4, 5]]


def test_global_is_the_lowest_task() -> None:
    assert spread(make(Source, reads(grouped(GroupingKind.GLOBAL))), 9) == {2: 9}


def test_custom_decides_itself() -> None:
    made = make(Source, reads(grouped(GroupingKind.CUSTOM)))
    made.component.emit([[3], 0])
    made.component.emit([[5, 2], 1])
    made.component.emit([[], 2])
    assert sorted((task, values[1]) for task, values in made.emitted()) == [(2, 1), (3, 0), (5, 1)]


@pytest.mark.parametrize("answer", [[1], [99], None, 3, ["2"]])
def test_a_custom_grouping_that_answers_nonsense_is_named(answer: object) -> None:
    made = make(Source, reads(grouped(GroupingKind.CUSTOM)))
    with pytest.raises(ComponentError) as caught:
        made.component.emit([answer, 0])
    told = str(caught.value)
    for part in ("tested.default", "Chosen", "readers", "[2, 3, 4, 5]", repr(answer)):
        assert part in told


def test_direct_goes_where_the_emitter_says() -> None:
    made = make(
        Source,
        reads(GroupingSpec(GroupingKind.DIRECT)),
        outputs=[StreamSpec("default", ("a", "b"), direct=True)],
    )
    made.component.emit([1, 2], direct_task=4)
    assert made.emitted() == [(4, [1, 2])]
    with pytest.raises(RuntimeError, match="emit with direct_task"):
        made.component.emit([1, 2])


@pytest.mark.parametrize("kind", [Source, Middle])
def test_a_direct_stream_wants_a_task_however_it_is_read(kind: type) -> None:
    made = make(
        kind,
        reads(grouped(GroupingKind.SHUFFLE)),
        outputs=[StreamSpec("default", ("a", "b"), direct=True)],
    )
    with pytest.raises(RuntimeError, match="emit with direct_task"):
        made.component.emit([1, 2])
    assert made.emitted() == []
    made.component.emit([1, 2], direct_task=4)
    assert [values for _, values in made.emitted()] == [[1, 2], [1, 2]]
    assert 4 in [task for task, _ in made.emitted()]


@pytest.mark.parametrize(
    ("task", "error", "told"),
    [
        (6, RuntimeError, r"task 6 does not read this stream \(its readers: \[2, 3, 4, 5\]\)"),
        (True, TypeError, "must be a task id, not True"),
        ("4", TypeError, "must be a task id, not '4'"),
    ],
)
@pytest.mark.parametrize("further", [(), (reads(grouped(GroupingKind.ALL)),)])
def test_a_direct_task_that_does_not_read_is_named(
    task: object, error: type[Exception], told: str, further: tuple[InputSpec, ...]
) -> None:
    made = make(Source, reads(grouped(GroupingKind.SHUFFLE)), *further)
    with pytest.raises(error, match=told):
        made.component.emit([1, 2], direct_task=task)
    assert made.emitted() == []


def test_direct_stream_keeps_its_name() -> None:
    # Found by tests/sim, seed 29: a second direct stream arrived as the first.
    made = make(
        Middle,
        reads(GroupingSpec(GroupingKind.DIRECT), "exact"),
        outputs=[StreamSpec("default", ("a", "b")), StreamSpec("exact", ("a", "b"), direct=True)],
    )
    made.component.emit([1, 2], stream="exact", direct_task=4)
    made.emitted()
    assert [each.streams for each in made.batches()] == [[1]]


def test_direct_emit_beside_an_all_grouping_keeps_stream_and_order() -> None:
    made = make(
        Middle,
        reads(grouped(GroupingKind.ALL), "more"),
        outputs=[StreamSpec("default", ("a",)), StreamSpec("more", ("a",))],
    )
    made.component.emit([1], stream="more")
    made.component.emit([2], stream="more", direct_task=3)
    made.component.emit([3], stream="more")
    to_three = [values[0] for task, values in made.emitted() if task == 3]
    assert sorted(to_three) == [1, 2, 2, 3]
    assert to_three == sorted(to_three)
    assert {stream for each in made.batches() for stream in each.streams} == {1}


@pytest.mark.parametrize("odd", [(1, 2), [1, 1 << 70], [1, "\ud800"]], ids=repr)
def test_tuples_that_take_the_careful_way_are_shuffled_evenly(odd: list[object]) -> None:
    # Found by tests/sim, seed 9: each general emit skipped a task, so with an even number of tasks
    # half of the tasks never got tuples from an emitter of Python tuples.
    for kind in (Source, Middle):
        made = make(kind, reads(grouped(GroupingKind.SHUFFLE)))
        for _ in range(40):
            made.component.emit(odd)
        found = Counter(task for task, _ in made.emitted())
        assert found == dict.fromkeys(ALL_READERS, 10)


def test_task_ids_are_told() -> None:
    made = make(Source, reads(grouped(GroupingKind.ALL)))
    assert made.component.emit([1, 2]) is None
    assert made.component.emit([1, 2], need_task_ids=True) == ALL_READERS
