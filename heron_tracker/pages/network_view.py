"""What goes over the network between containers, and between stream managers and instances."""

from collections.abc import Mapping

from heron_core.number_text import NOTHING, size
from heron_core.stats import InstanceStats, StreamManagerStats
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cells import PageCell, PageColumn, PageRow, PageTable

NETWORK = (
    PageColumn("container", "Container", is_number=True),
    PageColumn("peer", "Other container", is_number=True),
    PageColumn("received", "Received", is_number=True),
    PageColumn("receiving", "Received/s", is_number=True),
    PageColumn("sent", "Sent", is_number=True),
    PageColumn("sending", "Sent/s", is_number=True),
)
ROWS_MAX = 500
"""Pairs of containers: those that have sent each other most."""


def network_table(snapshot: TopologySnapshot, previous: TopologySnapshot | None) -> PageTable:
    """A row for each pair of containers, as the first one counts it; `previous`: an older snapshot,
    for what it is a second."""
    before = _managers(previous)
    rows = [
        (container, peer, _pair(manager, before.get(container), peer))
        for container, manager in _managers(snapshot).items()
        for peer in sorted(manager.peer_bytes_in.keys() | manager.peer_bytes_out.keys())
        if peer
    ]
    rows.sort(key=lambda row: -sum(now for now, _ in row[2]))
    secs = secs_between(snapshot, previous)
    return PageTable(NETWORK, tuple(_row(*row, secs) for row in rows[:ROWS_MAX]))


def _managers(snapshot: TopologySnapshot | None) -> Mapping[int, StreamManagerStats]:
    stats = snapshot.stats if snapshot is not None else None
    return stats.stream_managers if stats is not None else {}


def _pair(
    found: StreamManagerStats, before: StreamManagerStats | None, peer: int
) -> list[tuple[int, int | None]]:
    """Received and sent: now, and before."""
    earlier = (None, None) if before is None else (before.peer_bytes_in, before.peer_bytes_out)
    return [
        (now.get(peer, 0), None if then is None else then.get(peer, 0))
        for now, then in zip((found.peer_bytes_in, found.peer_bytes_out), earlier, strict=True)
    ]


def _row(container: int, peer: int, pair: list[tuple[int, int | None]], secs: float) -> PageRow:
    cells = {"container": PageCell(container), "peer": PageCell(peer)}
    names = (("received", "receiving"), ("sent", "sending"))
    for (total, per_sec), (now, then) in zip(names, pair, strict=True):
        cells[total] = PageCell(now, size(now))
        cells[per_sec] = rate_cell(now, then, secs)
    return PageRow(f"{container} {peer}", cells)


def secs_between(snapshot: TopologySnapshot, previous: TopologySnapshot | None) -> float:
    """Between their numbers; 0 where there are none."""
    if previous is None or previous.stats is None or snapshot.stats is None:
        return 0.0
    return snapshot.stats_at - previous.stats_at


def rate_cell(now: int, then: int | None, secs: float) -> PageCell:
    """Bytes a second; a dash where nobody knows, as after a restart."""
    if then is None or secs <= 0 or now < then:
        return PageCell(-1.0, NOTHING)
    per_sec = (now - then) / secs
    return PageCell(per_sec, f"{size(per_sec)}/s")


def instance_cells(
    each: InstanceStats, before: Mapping[int, InstanceStats], secs: float
) -> dict[str, PageCell]:
    """What an instance receives and sends a second."""
    then = before.get(each.task)
    received, sent = (None, None) if then is None else (then.received_bytes, then.sent_bytes)
    return {
        "receiving": rate_cell(each.received_bytes, received, secs),
        "sending": rate_cell(each.sent_bytes, sent, secs),
    }
