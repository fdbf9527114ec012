"""The compiled hot path and the Python one behave equally for any input."""

import random
from array import array
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heron_core.algorithms.hashing import slot, stable_hash
from heron_core.native import COMPILED, HOT_PATH
from heron_core.wire.values import packer
from heron_instance.input.tuples import EngineTuple
from tests.native.hot_path_support import (
    BUFFERS,
    PYTHON,
    WAYS,
    Careful,
    Compiled,
    Emitted,
    Emitter,
    forwarder_of,
    made_tuples,
    outcome_of,
    queue_facts,
    run_compiled,
    run_python,
)
from tests.property.test_plain_batches import WITH_RUNS
from tests.property.test_plain_messages import FENCE, HERE, MESSAGES

CALLS_MAX = 8

u64 = st.integers(1, 2**64 - 1)
roots = st.integers(1, 3)
BOUNDS = [sign * 2**bits + off for bits in (0, 5, 7, 8, 15, 16, 31, 32, 63, 64)
          for sign in (-1, 1) for off in (-1, 0, 1)]  # fmt: skip
"""Where an integer takes another form."""
LONGS = [each for each in BOUNDS if -(2**63) <= each < 2**63]
"""Values with a type of C."""
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, *range(490, 520))
"""Where text or bytes take another form, or are too long for it."""
numbers = st.integers(-(2**70), 2**70) | st.sampled_from(BOUNDS)
texts = st.text(max_size=40) | st.integers(250, 600).map("é".__mul__) | st.just("\ud800")
plain = st.one_of(
    st.none(), st.booleans(), numbers, st.floats(), texts, st.binary(max_size=300),
    st.binary(max_size=9).map(bytearray),
)  # fmt: skip
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(texts, inner),
    max_leaves=4,
)
rows = st.lists(plain, max_size=20) | st.lists(values, max_size=3) | values
runs = st.lists(st.tuples(st.integers(0, 3), u64, st.integers(1, 3)), min_size=1, max_size=5)
states = st.none() | st.tuples(roots, u64) | st.tuples(roots, u64, roots, u64) | st.just(())
emitted = st.builds(
    Emitted,
    values=st.tuples(values, st.integers(0, BUFFERS * 2)).map(list)
    | rows
    | st.tuples(st.sampled_from(["", "a"]), st.integers(0, BUFFERS * 2)),
    stream=st.sampled_from(["default", "default", "default", "other"]),
    anchors=st.none() | st.lists(st.integers(0, 2), max_size=2).map(tuple),
    tup_id=st.none() | st.text(max_size=3),
    direct_task=st.none() | st.none() | st.integers(1, 2),
    extras=st.booleans(),
)
calls = st.lists(emitted, max_size=CALLS_MAX)


@given(row=rows)
@settings(max_examples=200)
def test_values_are_packed_to_the_same_bytes(compiled: SimpleNamespace, row: Any) -> None:
    pack = packer()
    assert outcome_of(compiled.plain_packer(pack), row) == outcome_of(pack, row)


def test_each_form_of_a_value_is_packed_as_msgpack_does(compiled: SimpleNamespace) -> None:
    """Alone, and in the last free space."""
    pack = packer()
    pack_plain = compiled.plain_packer(pack)
    forms: list[Any] = [*BOUNDS, 0.0, -1.5, float("inf"), None, True, False]
    forms += [letter * size for letter in ("a", b"a", "é", "\ud800") for size in SIZES]
    for form in forms:
        for room in (0, 1, 2, 9, 11):
            row = [b"x" * (500 - room), form] if room else [form]
            assert outcome_of(pack_plain, row) == outcome_of(pack, row), (room, form)
    for width in range(20):
        assert pack_plain([1] * width) == pack([1] * width), width


keys = st.one_of(
    texts, st.text(min_size=255, max_size=257), numbers, st.binary(), st.booleans(), st.none(),
    st.floats(), st.tuples(st.integers()),
)  # fmt: skip


@given(key=keys, joint=st.tuples(keys, keys) | st.tuples(keys, keys, keys), slots=st.integers(1, 9))
@settings(max_examples=300)
def test_a_key_has_the_same_buffer(
    compiled: SimpleNamespace, key: Any, joint: Any, slots: int
) -> None:
    buffers = list(range(slots))
    others: Any = dict.fromkeys([key, joint], "not plain")
    of_one = compiled.PlainKeys(others, buffers, False)[key]
    of_several = compiled.PlainKeys(others, buffers, True)[joint]
    assert of_one in (slot(stable_hash([key]), slots), "not plain")
    assert of_several in (slot(stable_hash(joint), slots), "not plain")
    assert PYTHON.plain_keys(others, buffers, False) is others


@pytest.mark.parametrize("key", [*LONGS, "", "a", "é" * 300, b"", b"\0a"])
def test_a_plain_key_is_not_looked_up(compiled: SimpleNamespace, key: Any) -> None:
    for slots in (1, 2, 7, 1000):
        found = compiled.PlainKeys({}, list(range(slots)), False)[key]
        assert found == slot(stable_hash([key]), slots)


@given(tracked=st.booleans(), way=st.sampled_from(WAYS), three=st.tuples(states, states, states),
       are_numbers=st.booleans(), sequence=calls)  # fmt: skip
def test_a_bolt_emits_the_same(
    compiled: SimpleNamespace, tracked: bool, way: str, three: Any, are_numbers: bool,
    sequence: list[Emitted],
) -> None:  # fmt: skip
    outcomes = []
    for module in (PYTHON, compiled):
        emitter = Emitter(module, tracked, way, three, are_numbers)
        emit, returned = emitter.bolt(), []
        for each in sequence:
            emitter.begin(each)
            returned.append(
                emit(each.values, each.stream, emitter.chosen(each), direct_task=each.direct_task)
            )
        outcomes.append((returned, emitter.outcome()))
    assert outcomes[0] == outcomes[1]


@given(tracked=st.booleans(), way=st.sampled_from(WAYS), has_inits=st.booleans(), sequence=calls)
def test_a_spout_emits_the_same(
    compiled: SimpleNamespace, tracked: bool, way: str, has_inits: bool, sequence: list[Emitted]
) -> None:
    outcomes = []
    for module in (PYTHON, compiled):
        emitter = Emitter(module, tracked, way)
        emit = emitter.spout(has_inits)
        returned = [
            emit(each.values, tup_id=each.tup_id, stream=each.stream, direct_task=each.direct_task)
            for each in sequence
        ]
        outcomes.append((returned, emitter.outcome()))
    assert outcomes[0] == outcomes[1]


@given(given_runs=runs, shares=st.booleans(), kind=st.sampled_from([EngineTuple, Careful, tuple]))
def test_a_batch_becomes_the_same_tuples(
    compiled: SimpleNamespace, given_runs: Any, shares: bool, kind: Any
) -> None:
    """Of equal class; the tuples of a run share an anchor state."""
    found = []
    for module in (PYTHON, compiled):
        tuples, anchor_states = made_tuples(module, kind, given_runs, shares)
        assert {type(each) for each in tuples} == {kind}
        sharing = [[tup[-1] is state for state in anchor_states] for tup in tuples]
        left = [getattr(state, "left", None) for state in anchor_states]
        found.append((tuples, anchor_states, sharing, left))
    assert found[0] == found[1]


@given(given_runs=runs, shares=st.booleans(), data=st.data())
def test_acks_come_to_the_same(
    compiled: SimpleNamespace, given_runs: Any, shares: bool, data: st.DataObject
) -> None:
    """Of whole batches, of some of their tuples, of some twice, and after a fail."""
    total = sum(size for _, _, size in given_runs)
    some = st.lists(st.integers(0, total - 1), max_size=total + 2)
    order = data.draw(st.just(list(range(total))) | some)
    failed = data.draw(st.none() | st.integers(0, total - 1))
    found = []
    for module in (PYTHON, compiled):
        tuples, anchor_states = made_tuples(module, EngineTuple, given_runs, shares)
        shared: Any = tuples[failed].roots if failed is not None else None
        first = shared.first_settle(tuples[failed].tuple_key) if hasattr(shared, "left") else None
        acks: dict[int, int] = {}
        acked = [tuples[at] for at in order]
        is_whole = module.fold_runs(acked, tuples, anchor_states, acks)
        others = [] if is_whole else module.fold_acks(acked, acks)
        places = [next(at for at in order if tuples[at] is each) for each in others]
        left = [getattr(state, "left", None) for state in anchor_states]
        found.append((first, is_whole, places, acks, tuples, left))
    assert found[0] == found[1]


several_pairs = st.lists(st.tuples(roots, st.integers(0, 3)))


@given(steps=st.lists(st.tuples(several_pairs, several_pairs, several_pairs, roots), max_size=5))
def test_trees_come_to_the_same(compiled: SimpleNamespace, steps: list[Any]) -> None:
    found = []
    for module in (PYTHON, compiled):
        trees, came = module.TreeTable(), []
        for begun, acked, acked_alone, ended in steps:
            others: list[int] = []
            trees.begin(packet_of(begun))
            done = trees.settle(packet_of(acked), 0, 16 * len(acked), others)
            outcomes = [trees.settle_one(*pair) for pair in acked_alone]
            ended_one = trees.end(ended)
            span = trees.span() if len(trees) else None
            came.append((done, others, outcomes, ended_one, trees.items(), len(trees), span))
        found.append(came)
    assert found[0] == found[1]


def packet_of(pairs: list[tuple[int, int]]) -> bytes:
    """As decoded from a frame."""
    return array("Q", [number for pair in pairs for number in pair]).tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_trees_is_a_dict(compiled: SimpleNamespace, seed: int) -> None:
    """The table grows, its rows of slots meet and wrap around the end, and removals leave no gaps:
    the roots of two processes of a spout count up, plus some random roots."""
    rng, trees, model = random.Random(seed), compiled.TreeTable(), dict[int, int]()
    counters = [rng.getrandbits(62) for _ in range(2)]
    for _ in range(300):
        for at, first in enumerate(counters):
            number = rng.randrange(1, 40)
            counters[at] += number
            begun = {root: rng.getrandbits(64) or 1 for root in range(first, first + number)}
            begun[rng.getrandbits(64) or 1] = 1
            trees.begin(packet_of(list(begun.items())))
            model |= begun
        gone = rng.sample(sorted(model), len(model) * rng.randrange(2, 9) // 10)
        others: list[int] = []
        pairs = [(root, model.pop(root)) for root in gone]
        done = trees.settle(packet_of(pairs), 0, 16 * len(pairs), others)
        assert (list(array("Q", done)), others) == (gone, [])
        assert (trees.items(), len(trees)) == (sorted(model.items()), len(model))


@given(numbers=st.integers(1, 9), draws=st.integers(1, 30), seed=st.integers())
def test_edges_are_drawn_in_the_same_order(
    compiled: SimpleNamespace, numbers: int, draws: int, seed: int
) -> None:
    drawn = []
    for module in (PYTHON, compiled):
        next_edge = module.edge_numbers(partial(random.Random(seed).randbytes, 8 * numbers))
        drawn.append([next_edge() for _ in range(draws)])
    assert drawn[0] == drawn[1]


def test_what_is_no_bytes_is_no_edge(compiled: SimpleNamespace) -> None:
    for wrong in (b"seven b", bytearray(8), None):
        with pytest.raises(TypeError, match="edges are drawn"):
            compiled.edge_numbers(lambda wrong=wrong: wrong)()
    next_edge = compiled.edge_numbers(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            next_edge()


frames = st.lists(st.binary(max_size=30), min_size=1, max_size=4)


MARKS = st.sampled_from([-1.5, 0.0, 0.5, 3.0, 63.5, 2.0**62, 1e300]) | st.floats(-9, 9)


@given(size=st.integers(0, 9), worth=MARKS, mark=MARKS)
def test_the_same_is_the_next_limit(
    compiled: SimpleNamespace, size: int, worth: float, mark: float
) -> None:
    limits = []
    for module in (PYTHON, compiled):
        queue = module.MessageQueue()
        queue.size = queue.items = size
        queue.limit(round(worth), round(mark), worth, mark)
        limits.append((queue.bytes_limit, queue.items_limit))
    assert limits[0] == limits[1]
    assert all(size < limit <= 1 << 62 for limit in limits[0])


@pytest.mark.parametrize("messages", [[b"frame"], [["text"]], [[b"a"], None], [[bytearray(b"a")]]])
def test_what_is_not_messages_is_not_merged(compiled: SimpleNamespace, messages: Any) -> None:
    with pytest.raises(TypeError):
        compiled.merged_data(messages)


def test_a_message_of_too_many_frames_is_not_merged(compiled: SimpleNamespace) -> None:
    for module in (PYTHON, compiled):
        with pytest.raises(ValueError, match=r"25[56]"):
            module.merged_data([[b""] * 256])


@given(messages=st.lists(frames, min_size=1, max_size=5), data=st.data())
def test_messages_are_merged_and_split_in_the_same_way(
    compiled: SimpleNamespace, messages: list[list[bytes]], data: st.DataObject
) -> None:
    merged = PYTHON.merged_data(messages)
    assert compiled.merged_data(messages) == merged
    changed = bytearray(merged)
    changed[data.draw(st.integers(0, len(merged) - 1))] = data.draw(st.integers(0, 255))
    for each in (merged, merged[:-1], merged + b"x", bytes(changed)):
        for number in (0, len(messages), len(messages) + 1):
            parts = PYTHON.split_merged(each, number)
            assert compiled.split_merged(each, number) == parts


@given(message=MESSAGES | WITH_RUNS, epoch=st.integers(FENCE - 1, FENCE + 1))
def test_the_same_messages_are_plain_batches(
    compiled: SimpleNamespace, message: list[bytes], epoch: int
) -> None:
    is_plain, wanted = (
        module.is_plain_batch(module.Heading(), message, epoch) for module in (compiled, PYTHON)
    )
    assert is_plain == wanted


@given(messages=st.lists(MESSAGES, max_size=6), taken=st.integers(0, 7),
       limits=st.tuples(st.integers(1, 5), st.integers(0, 200), st.floats(0, 9)))  # fmt: skip
def test_messages_are_put_in_the_same_queues(
    compiled: SimpleNamespace, messages: list[list[bytes]], taken: int, limits: Any
) -> None:
    outcomes = []
    for module in (PYTHON, compiled):
        known = forwarder_of(module)
        known.sent = {} if taken % 2 else None
        known.gated = {HERE} if taken % 3 == 0 else set()
        others = known.others(messages)
        plain = [each for at, each in enumerate(messages) if at not in others]
        known.pass_on(plain, 0, len(plain))
        queues = [queue_facts(each, taken, limits) for each in known.ways.values()]
        trees = [(each.newest.items(), each.done, each.missed) for each in known.spouts.values()]
        counted = (known.forwarded, known.tuples)
        facts = (known.settled, counted, known.strays, known.sent)
        outcomes.append((others, queues, trees, facts))
    assert outcomes[0] == outcomes[1]


CALLERS = {
    "the instance": (
        "unit/heron_instance/test_collector.py", "unit/heron_instance/test_runs.py",
        "unit/heron_instance/test_drivers.py",
    ),
    "the stream manager": ("unit/stream_manager",),
    "the state": (
        "unit/heron_api/test_keyed_state.py", "unit/heron_api/test_user_errors.py",
        "property/test_state_properties.py", "property/test_snapshot_files.py",
        "property/test_rocksdb_state.py",
    ),
    "a cluster": ("sim/test_cluster.py::test_cluster", "sim/test_effectively_once.py"),
}  # fmt: skip


@pytest.mark.parametrize("callers", CALLERS)
def test_what_holds_of_the_hot_path_that_runs_here_holds_of_the_other_one(
    extensions: Compiled, callers: str
) -> None:
    """Of spouts, bolts, trees and states, and of a cluster. `make test` runs the compiled one,
    `make check` Python's."""
    program = 'import pytest\nsys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *arguments]))'
    files = [f"tests/{name}" for name in CALLERS[callers]]
    if HOT_PATH == COMPILED:
        run = run_python(program, *files)
    else:
        run = run_compiled(extensions, program, *files)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
