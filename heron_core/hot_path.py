"""The hot path: code for each tuple and each root, in one source with two forms.

The source is plain Python, and so runs without a compiler. Cython compiles the same file (`make
native`): hot_path.pxd beside the source gives the classes C fields, and hot_path.h has the C
function that replaces the Python function under `if not cython.compiled`. The annotations
`cython.…` are C types for Cython, and have no effect in Python. heron_core/native.py chooses the
form. Sending is in hot_emit.py, in the same way.

The module knows neither groupings nor sockets nor plans; all inputs are passed at the start,
because the module exists to avoid look-ups for each tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from operator import is_
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from array import array

    import cython

    AnchorState = list[int] | None  # as in heron_instance.input.anchors
else:
    # The module `cython` is the compiler's; its import, if installed, takes 13 ms.
    cython = SimpleNamespace(compiled=False)

if not cython.compiled:
    from heron_core.hot_c import is_first, item_of_roots

COMPILED: bool = cython.compiled
COMPLETE_ALL_NUMBERS_MIN = 50
"""25 pairs: 217 ns a root in bulk, 247 one by one; with 10 pairs 326 against 312."""


# --- anchors --------------------------------------------------------------------------------------


class SharedAnchorState(list):  # type: ignore[type-arg]
    """The anchor state of several tuples, which are known by their keys."""

    __slots__ = ("first_key", "has_failed", "in_order", "left", "settled")

    left: int
    """Tuples neither acked nor failed yet."""
    has_failed: bool
    """Whether a tuple has failed, and with it their root, to which emits for the rest belong."""
    settled: set[int] | None
    """Keys of the settled tuples; None before the first, and after a settlement of all at once."""
    first_key: int
    """Key of the first tuple of consecutive keys; 0 if the keys may not be consecutive."""
    in_order: int
    """Number of tuples settled in order, from the first on."""

    def __init__(self, pairs: Iterable[int], left: int, first_key: Any = 0) -> None:
        self.extend(pairs)
        self.left = left
        self.first_key = first_key
        self.settled = None
        self.has_failed = False
        self.in_order = 0

    def first_settle(self, key: Any) -> cython.bint:
        """Whether this is the first ack or fail of the tuple with `key`."""
        if self.has_settled(key) or not self.left:
            return False
        self.left -= 1
        if self.first_key and key == self.first_key + self.in_order:
            self.in_order += 1
            return True
        if self.settled is None:
            self.settled = set()
        self.settled.add(key)
        return True

    def has_settled(self, key: Any) -> cython.bint:
        """Whether the tuple with that key was acked or failed by itself."""
        if self.settled is not None and key in self.settled:
            return True
        return self.first_key <= key < self.first_key + self.in_order

    @property
    def is_untouched(self) -> bool:
        """Whether all tuples are neither acked nor failed."""
        return self.settled is None and not self.in_order


class RunState:
    """The anchor state of a run of tuples of one root, in numbers: as long as the tuples are acked
    in turn and emits for them have one anchor. Any other use converts the state to a list, for
    good.
    """

    __slots__ = ("_run", "_whole")

    def __init__(self) -> None:
        if cython.compiled:
            assert is_first(self, cython.address(self._run))
        else:
            self._run: Any = SimpleNamespace()
        self._whole: Any = None

    def whole(self) -> Any:
        """Convert the state to a list, valid from now on."""
        shared: SharedAnchorState
        if self._whole is None:
            left = self._run.tuples - self._run.settled
            pairs = [self._run.root, self._run.value] if left else []
            if self._run.tuples == 1:
                self._whole = pairs
            else:
                shared = SharedAnchorState(pairs, left, self._run.first_key)
                shared.in_order = self._run.settled
                self._whole = shared
            self._run.is_whole = True
        return self._whole

    def __reduce__(self) -> Any:
        return itself, (self.whole(),)


def itself(state: Any) -> Any:
    """What a RunState is elsewhere."""
    return state


def begin_run(
    state: RunState, root: cython.ulonglong, value: cython.ulonglong, first_key: cython.ulonglong,
    tuples: cython.Py_ssize_t,
) -> Any:  # fmt: skip
    """Start the state of a run of `tuples` tuples with consecutive keys from `first_key` on."""
    state._whole = None
    state._run.root = root
    state._run.value = value
    state._run.first_key = first_key
    state._run.tuples = tuples
    state._run.settled = 0
    state._run.is_whole = False


class WholeRoots:
    """The `roots` of a class of tuples: their anchor state as a list."""

    __slots__ = ()

    def __get__(self, tup: Any, kind: Any) -> Any:
        if tup is None:
            return self
        state = item_of_roots(tup)
        return state.whole() if isinstance(state, RunState) else state


def roots_item(plain: Any) -> Any:
    """The `roots` item of a class of tuples: `plain`, or a descriptor that makes a list of
    numbers.
    """
    return WholeRoots() if cython.compiled else plain


def own_anchors(ids: array[int]) -> list[Any]:
    """An anchor state for each pair of root and edge."""
    pairs = iter(ids)
    return [[root, edge] if root else None for root, edge in zip(pairs, pairs, strict=True)]


def run_anchors(ids: array[int], sizes: array[int]) -> list[Any]:
    """An anchor state for each pair, shared if its run has several tuples."""
    pairs = iter(ids)
    return [
        None if not root else [root, edge] if size == 1 else SharedAnchorState((root, edge), size)
        for root, edge, size in zip(pairs, pairs, sizes, strict=True)
    ]


def are_untouched(anchor_states: Iterable[AnchorState]) -> bool:
    """Whether all tuples with these anchor states are neither acked nor failed."""
    for anchor_state in anchor_states:
        if anchor_state is None:
            continue
        if not anchor_state or (
            isinstance(anchor_state, SharedAnchorState) and not anchor_state.is_untouched
        ):
            return False
    return True


def each_its(anchor_states: Iterable[AnchorState], sizes: array[int]) -> Iterator[AnchorState]:
    """The anchor state of each tuple of runs with these tracks and sizes."""
    return chain.from_iterable(map(repeat, anchor_states, sizes))


# --- tuples of a batch ----------------------------------------------------------------------------

if not cython.compiled:

    def made_tuple(
        kind: Any,
        key: Any,
        component: str,
        stream: str,
        task: int,
        values: Any,
        created: float,
        roots: AnchorState,
    ) -> Any:
        """A tuple of the class `kind`, constructed from one iterable (FromItems)."""
        return kind((key, component, stream, task, values, created, roots))


def made_rows(
    kind: Any,
    component: str,
    stream: str,
    task: int,
    values: list[Any],
    created: float,
    ids: array[int] | None,
    sizes: array[int] | None,
    keys: Iterator[int],
) -> tuple[list[Any], list[Any]]:
    """The tuples of a checked batch, and their anchor states: one for each, or for each run.

    A tuple's key is its edge, or the next of `keys` if several tuples share an edge.
    """
    if ids is None:
        return _rows(kind, repeat(0), component, stream, task, values, created, repeat(None)), []
    if sizes is None:
        own = own_anchors(ids)
        return _rows(kind, ids[1::2], component, stream, task, values, created, own), own
    runs = run_anchors(ids, sizes)
    if cython.compiled:
        rows = _rows_of_runs(kind, keys, component, stream, task, values, created, runs, sizes)
    else:
        shared = each_its(runs, sizes)
        rows = _rows(kind, keys, component, stream, task, values, created, shared)
    return rows, runs


def _rows(
    kind: Any,
    keys: Any,
    component: str,
    stream: str,
    task: Any,
    values: list[Any],
    created: Any,
    roots: Any,
) -> list[Any]:
    """A tuple for each row of values; without compiler by what Python has in C."""
    if not cython.compiled:
        items = zip(
            keys, repeat(component), repeat(stream), repeat(task), values, repeat(created), roots
        )
        return list(map(kind, items))
    each_key, each_roots = iter(keys), iter(roots)
    return [
        made_tuple(kind, next(each_key), component, stream, task, value, created, next(each_roots))
        for value in values
    ]


def _rows_of_runs(
    kind: Any,
    keys: Any,
    component: str,
    stream: str,
    task: Any,
    values: list[Any],
    created: Any,
    runs: list[Any],
    sizes: array[int],
) -> list[Any]:
    """Rows of tuples that share anchor states, where a loop costs nothing."""
    at: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = 0
    rows: list[Any] = []
    for roots, size in zip(runs, sizes, strict=True):
        end += size
        while at < end:
            rows.append(
                made_tuple(kind, next(keys), component, stream, task, values[at], created, roots)
            )
            at += 1
    return rows


# --- acks -----------------------------------------------------------------------------------------


def fold_acks(acked: list[Any], acks: dict[int, int]) -> list[Any]:
    """Xor the values of tuples with one root into `acks`; returns the remaining tuples."""
    others: list[Any] = []
    for tup in acked:
        anchor_state = tup.roots
        if anchor_state is None:
            continue
        if type(anchor_state) is not list:
            others.append(tup)
            continue
        try:
            root, value = anchor_state
        except ValueError:  # several roots, or settled before
            others.append(tup)
            continue
        acks[root] = acks.get(root, 0) ^ value
        anchor_state.clear()
    return others


def fold_at_once(anchor_states: Iterable[AnchorState], acks: dict[int, int]) -> None:
    """Xor the values of anchor states into `acks`, acking all tuples of each state at once."""
    shared: SharedAnchorState
    for anchor_state in anchor_states:
        if anchor_state is not None:
            root, value = anchor_state
            acks[root] = acks.get(root, 0) ^ value
            anchor_state.clear()
            if isinstance(anchor_state, SharedAnchorState):
                shared = anchor_state
                shared.left = 0


def whole_batch(
    acked: list[Any], rows: list[Any], anchor_states: list[AnchorState], counter_bits: int
) -> list[int] | None:
    """root, value, … of a batch, if `acked` is the batch with each tuple once; None otherwise, or
    if the roots differ above their lowest `counter_bits`: such roots have different owners.

    Each tuple has its own anchor state here, which the ack settles.
    """
    if len(acked) != len(rows) or not _are_the_same(acked, rows):
        return None
    try:
        pairs = list(chain.from_iterable(anchor_states))  # type: ignore[arg-type]
    except TypeError:  # not all of them are tracked
        return None
    if len(pairs) != 2 * len(anchor_states):  # some were settled before
        return None
    roots = pairs[::2]
    if not roots or min(roots) >> counter_bits != max(roots) >> counter_bits:
        return None
    for anchor_state in anchor_states:
        anchor_state.clear()  # type: ignore[union-attr]
    return pairs


def fold_runs(
    acked: list[Any], rows: list[Any], runs: list[AnchorState], acks: dict[int, int]
) -> bool:
    """Xor the values of a whole batch into `acks`, if `acked` is the batch with each tuple once."""
    if not runs or len(acked) != len(rows) or not _are_the_same(acked, rows):
        return False
    if not are_untouched(runs):
        return False
    fold_at_once(runs, acks)
    return True


def _are_the_same(some: list[Any], others: list[Any]) -> bool:
    if not cython.compiled:
        return all(map(is_, some, others))
    return all(some[at] is others[at] for at in range(len(some)))


def fold_into_trees(
    trees: dict[int, int], pairs: array[int], done: array[int]
) -> list[tuple[int, int]]:
    """Xor (root, value) pairs into the values of `trees`; roots at zero go from there to `done`.

    Returns the pairs whose roots are not among `trees`.
    """
    others: list[tuple[int, int]] = []
    if not cython.compiled and _complete_all(trees, pairs):
        done.extend(pairs[::2])
        return others
    numbers = iter(pairs)
    for root in numbers:
        value = next(numbers)
        held = trees.get(root)
        if held is None:
            others.append((root, value))
        elif held == value:
            del trees[root]
            done.append(root)
        else:
            trees[root] = held ^ value
    return others


def _complete_all(trees: dict[int, int], pairs: array[int]) -> bool:
    """Take the roots of all pairs out of `trees` if each of them is thereby at zero.

    True where each tree has one tuple; Python then runs the loop in C. The last pair tells whether
    a try is worthwhile.
    """
    if len(pairs) < COMPLETE_ALL_NUMBERS_MIN or trees.get(pairs[-2]) != pairs[-1]:
        return False
    roots = pairs[::2].tolist()
    held = list(map(trees.pop, roots, repeat(None)))
    if held == pairs[1::2].tolist():
        return True
    trees.update(
        (root, value) for root, value in zip(roots, held, strict=True) if value is not None
    )
    return False
