"""Gates over random interleavings: whatever a source sends keeps its order, cut at the barriers."""

from hypothesis import given
from hypothesis import strategies as st

from heron_core.wire.frames import FrameKind, header
from heron_core.wire.packets import encode_barrier
from heron_engine.stream_manager.gates import DATA, InstanceGate

SOURCES = (1, 2, 3)


@given(st.lists(st.tuples(st.sampled_from(SOURCES), st.booleans()), max_size=80))
def test_barriers_cut_the_data_of_all_sources_at_the_same_point(
    steps: list[tuple[int, bool]],
) -> None:
    gate = InstanceGate(frozenset(SOURCES))
    sent: dict[int, list[tuple[int, int]]] = {source: [] for source in SOURCES}
    """source -> (barriers sent before, number of the batch)"""
    barriers = dict.fromkeys(SOURCES, 0)
    passed: list[tuple[int, int] | int] = []
    for source, is_barrier in steps:
        if is_barrier:
            barriers[source] += 1
            number, frames = barriers[source], encode_barrier(1, source, 9, barriers[source])
        else:
            at = len(sent[source])
            sent[source].append((barriers[source], at))
            number, frames = DATA, [header(FrameKind.DATA, 1, source, 9, 1), bytes([at])]
        for reached, batch in gate.take(source, number, frames):
            passed.append(reached if reached != DATA else (batch[0][12], batch[1][0]))
        gate.validate()
    complete = min(barriers.values())
    assert [each for each in passed if isinstance(each, int)] == list(range(1, complete + 1))
    before = 0
    got: dict[int, list[tuple[int, int]]] = {source: [] for source in SOURCES}
    for each in passed:
        if isinstance(each, int):
            before = each
        else:
            got[each[0]].append((before, each[1]))
    for source in SOURCES:
        wanted = [each for each in sent[source] if each[0] <= complete]
        assert got[source] == wanted
