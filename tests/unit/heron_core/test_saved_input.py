"""Input that is saved with a state: as bytes, and for whoever begins with it."""

import pytest

from heron_core.errors import StateError
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.state.description import contents_of, opens_pickles
from heron_core.state.file_snapshot import FileSnapshot
from heron_core.state.saved_input import (
    NO_INPUT,
    InputSource,
    SavedInput,
    addressed,
    decode_input,
    encode_input,
    input_size,
)
from heron_core.state.snapshot import Snapshot, encode
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_core.wire.frames import FrameKind, Frames, header, header_of
from heron_core.wire.packets import encode_watermark

STATE = encode(Snapshot("memory", (), ()))
NOTHING = Resource(0.0, 0, 0)


def message(source: int, items: int, stream: int = 0) -> Frames:
    return [header(FrameKind.DATA, 1, source, 9, items, stream), b"body"]


def packing(words: int) -> PackingPlan:
    tasks = tuple(InstancePlan(5 + at, "words", at, NOTHING) for at in range(words))
    return PackingPlan("t", (ContainerPlan(1, tasks, NOTHING),))


def topology(*streams: str) -> TopologySpec:
    outputs = tuple(StreamSpec(each, ("word",)) for each in streams)
    return TopologySpec("t", (ComponentSpec("words", True, "a.B", 1, outputs, ()),), {})


def source(index: int = 0, tasks: int = 1) -> InputSource:
    return InputSource("words", index, tasks, ("default", "errors"))


def test_what_is_saved_comes_back_and_so_do_the_files_of_its_state() -> None:
    saved = SavedInput((message(2, 10), message(2, 3)), 4, {2: source()})
    assert decode_input(encode_input(STATE, saved)) == (STATE, saved)
    assert saved.tuples == 9
    assert decode_input(STATE) == (STATE, NO_INPUT)
    assert input_size(encode_input(STATE, saved)) == (2, saved.size_bytes)
    assert input_size(STATE) == (0, 0)
    filed = FileSnapshot.of(STATE, {"a": 3}, None)  # type: ignore[arg-type]
    state, _ = decode_input(encode_input(filed, saved))
    assert isinstance(state, FileSnapshot)
    assert state.files == {"a": 3}


def test_what_is_cut_is_refused() -> None:
    data = encode_input(STATE, SavedInput((message(2, 10),), 0, {2: source()}))
    for end in range(7, len(data)):
        with pytest.raises(StateError):
            decode_input(data[:end])


def test_sources_are_known_by_component_index_and_stream() -> None:
    saved = SavedInput((message(2, 10, 1),), 4, {2: source(1, 2)})
    found = addressed(8, 40, packing(2), topology("errors", "default"), saved)
    head = header_of(found.messages[0])
    assert (head.epoch, head.source, head.destination, head.stream) == (8, 6, 40, 0)
    assert (head.items, found.first_row) == (10, 4)


def test_what_a_watermark_says_is_of_as_many_sources_as_there_were() -> None:
    saved = SavedInput((encode_watermark(1, 2, 9, 500), message(2, 1)), 0, {2: source(0, 2)})
    streams = topology("default", "errors")
    assert len(addressed(8, 40, packing(2), streams, saved).messages) == 2
    assert len(addressed(8, 40, packing(3), streams, saved).messages) == 1


def test_input_of_what_is_no_more_is_refused_by_name() -> None:
    saved = SavedInput((message(2, 10),), 0, {2: source()})
    with pytest.raises(StateError, match="the stream errors of words"):
        addressed(8, 40, packing(1), topology("default"), saved)
    gone = SavedInput((message(2, 10),), 0, {2: InputSource("lines", 0, 1, ("default",))})
    with pytest.raises(StateError, match="input of lines, which was removed"):
        addressed(8, 40, packing(1), topology("default"), gone)


def test_a_state_with_input_may_be_divided_and_may_hold_anything() -> None:
    data = encode_input(STATE, SavedInput((message(2, 10),), 0, {2: source()}))
    assert contents_of(data, "here").input_messages == 1
    assert contents_of(data, "here").may_be_divided
    assert opens_pickles(data)
    assert contents_of(STATE, "here").may_be_divided
