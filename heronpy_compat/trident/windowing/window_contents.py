"""The windows of one partition, batch by batch, in a store.

    NAME|position      [run, txid, now_ms, position before the batch, position behind it]
    NAME|partitions    their number
    NAME|tuple|NUMBER  [when it came, values]

Changes of the newest batch can be undone, as in an opaque state: a replay starts from the position
before the batch, with the time of its first attempt, and so ends equal windows.
"""

from collections.abc import Sequence

from msgspec import structs

from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.tuples import Row
from heronpy_compat.trident.windowing.window_configs import TridentWindows, WindowPosition
from heronpy_compat.trident.windowing.window_stores import WindowsStore

_Kept = tuple[int, Row]
"""Arrival time and values of a tuple."""


class WindowContents:
    """See the module."""

    def __init__(
        self, windows: TridentWindows, store: WindowsStore, name: str, run: str, partitions: int
    ) -> None:
        """`run`: a word that identifies the run of the topology, whose transactions start at 1;
        TridentError if the number of partitions has changed, because tuples of other partitions
        would be missing."""
        self._windows = windows
        self._store = store
        self._name = name
        self._run = run
        self._check_partitions(partitions)
        self._txid, self._now_ms = 0, 0
        self._before = self._behind = WindowPosition()
        self._oldest = 0
        """The first stored tuple."""
        self._kept: list[_Kept] = []
        """From `_before.first` on."""
        self._load()

    def _check_partitions(self, partitions: int) -> None:
        key = f"{self._name}|partitions"
        known = self._store.get(key)
        if known is None:
            self._store.put(key, partitions)
        elif known != partitions:
            raise TridentError(
                f"{self._name}: its windows have {known} partitions, which cannot be divided "
                f"into {partitions}"
            )

    def _load(self) -> None:
        stored = self._store.get(f"{self._name}|position")
        if stored is None:
            return
        run, txid, now_ms, before, behind = stored
        self._now_ms, self._behind = now_ms, WindowPosition(*behind)
        self._oldest = WindowPosition(*before).first
        # The next run starts with new transaction ids and continues after the last batch.
        self._before = WindowPosition(*before) if run == self._run else self._behind
        self._txid = txid if run == self._run else 0
        keys = [self._key(number) for number in range(self._before.first, self._behind.end)]
        kept = self._store.get_many(keys)
        if missing := [key for key, value in zip(keys, kept, strict=True) if value is None]:
            raise TridentError(f"{missing[0]} is missing in {type(self._store).__name__}")
        self._kept = [(time_ms, list(values)) for time_ms, values in kept]

    def _key(self, number: int) -> str:
        return f"{self._name}|tuple|{number}"

    def take(self, txid: int, rows: Sequence[Row], now_ms: int) -> list[tuple[int, list[Row]]]:
        """The windows that a batch ends, by number; durable on return."""
        if txid < self._txid:
            raise TridentError(f"transaction {txid} is behind the stored {self._txid}")
        is_replay = txid == self._txid
        before = self._before if is_replay else self._behind
        now_ms = self._now_ms if is_replay else max(now_ms, self._now_ms)
        end_of_kept = before.end - self._before.first
        kept = self._kept[before.first - self._before.first : end_of_kept]
        times_ms = [time_ms for time_ms, _ in kept]
        behind, ended = self._windows.behind(before, times_ms, len(rows), now_ms)
        kept += [(now_ms, row) for row in rows]
        if behind != before or is_replay:
            self._write(txid, now_ms, before, behind, kept)
        return [
            (window.number, [row for _, row in kept[window.begin - before.first :][: window.size]])
            for window in ended
        ]

    def _write(
        self,
        txid: int,
        now_ms: int,
        before: WindowPosition,
        behind: WindowPosition,
        kept: list[_Kept],
    ) -> None:
        gone = [*range(self._oldest, before.first), *range(behind.end, self._behind.end)]
        tuples = {
            self._key(number): list(kept[number - before.first])
            for number in range(before.end, behind.end)
        }
        positions = [list(structs.astuple(position)) for position in (before, behind)]
        position = [self._run, txid, now_ms, *positions]
        self._store.put_all({**tuples, f"{self._name}|position": position})
        # The tuples are needed until a position without them is stored.
        self._store.remove_all([self._key(number) for number in gone])
        self._txid, self._now_ms = txid, now_ms
        self._before, self._behind, self._kept = before, behind, kept
        self._oldest = before.first
