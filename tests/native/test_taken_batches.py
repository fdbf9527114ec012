"""What buffers hold becomes the same messages, compiled or not, and those of the wire's batches."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.wire.batch import batch_message
from heron_core.wire.frames import Frames
from tests.native.hot_path_support import PYTHON

EPOCH, TASK = 3, 70_000
SIMPLE, MIXED, FAN_OUT, SEVERAL_ROOTS, OF_ANOTHER_CLASS = range(5)
FILLED = st.lists(
    st.tuples(
        st.integers(SIMPLE, OF_ANOTHER_CLASS), st.lists(st.integers(0, 2), max_size=4),
        st.integers(0, 65_535), st.booleans(),
    ),
    max_size=6,
)  # fmt: skip
"""Of each buffer: its kind, the roots of its tuples, the index of its stream, whether its emits are
counted when it is flushed."""


def buffers_of(module: Any, filled: Any, tracked: bool) -> list[Any]:
    """Buffers with these tuples."""
    another = type(
        "Another", (module.TupleBuffer,), {"is_empty": property(lambda one: not one.tuples)}
    )
    edges, made = count(1000).__next__, []
    for task, (kind, roots, stream, is_counted) in enumerate(filled, 1):
        of_class = another if kind == OF_ANOTHER_CLASS else module.TupleBuffer
        buffer = of_class(task, (7, 8) if kind == FAN_OUT else ())
        buffer.stream, buffer.emits = stream, [5] if is_counted else None
        if kind == MIXED:
            buffer.mix()
        for root in roots:
            if kind == SEVERAL_ROOTS:
                buffer.add_roots([9])
            module.put_tuple([buffer], b"\x91\x05", root, stream, tracked, True, edges)
        made.append(buffer)
    return made


def message_of(buffer: Any, tracked: bool, begins: bool) -> Frames:
    """As heron_core.wire.batch has it."""
    ids = buffer.ids_frame() if tracked else None
    sizes = buffer.sizes_frame() if tracked and buffer.has_runs else None
    where = EPOCH, TASK, buffer.destination, buffer.tuples
    return batch_message(*where, buffer.body(), buffer.stream, begins, (), ids, sizes, None, ())


@given(filled=FILLED, tracked=st.booleans(), begins=st.booleans())
def test_buffers_become_the_batches_of_the_wire_and_are_empty(
    compiled: SimpleNamespace, filled: Any, tracked: bool, begins: bool
) -> None:
    outcomes = []
    for module in (PYTHON, compiled):
        buffers, kind = buffers_of(module, filled, tracked), module.TupleBuffer
        simple = [
            each for each in buffers if type(each) is kind and not (each.is_mixed or each.extras)
        ]
        simple = [each for each in simple if not each.targets and each.tuples]
        wanted = [message_of(each, tracked, begins) for each in simple]
        tuples = sum(each.tuples for each in simple)
        assert module.are_empty(buffers, kind) is not any(each.tuples for each in buffers)
        assert module.simple_tuples(buffers, kind) == tuples
        asked: list[int] = []

        def others(buffer: Any, asked: list[int] = asked) -> list[Frames]:
            asked.append(buffer.destination)
            return [[b"others", bytes([buffer.destination])]]

        taken = module.taken_batches(buffers, kind, EPOCH, TASK, tracked, begins, others)
        assert [each for each in taken if each[0] != b"others"] == wanted
        assert not any(each.tuples or each.pairs for each in simple)
        outcomes.append((taken, asked, [each.emits for each in buffers]))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["epoch", "source", "destination", "stream"])
def test_a_number_that_a_header_cannot_have_is_an_error(
    compiled: SimpleNamespace, name: str
) -> None:
    for module in (PYTHON, compiled):
        (buffer,) = buffers_of(module, [(SIMPLE, [1], 0, False)], True)
        numbers = {"epoch": EPOCH, "source": TASK}
        if name in numbers:
            numbers[name] = 1 << 32
        else:
            setattr(buffer, name, 1 << 32)
        with pytest.raises(Exception, match=r"(?i)large|argument|format|convert"):
            module.taken_batches(
                [buffer], module.TupleBuffer, numbers["epoch"], numbers["source"], True, False, list
            )
        assert buffer.tuples == 1, "what was not sent is still there"
