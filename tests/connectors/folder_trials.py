"""Folders without space for a file: trials of each sink and their results. AssertionError for a
failure without a report, or a lost row without a count."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError, HeronError
from heronpy_compat.testing import TopologyTester
from tests.connectors.runs import (
    SINK,
    SPARK,
    Ended,
    SparkRun,
    classes,
    given,
    sinking,
)
from tests.connectors.sink_trials import write
from tests.connectors.sinks import SinkEntry, Store
from tests.unwritable_support import unwritable

FIELDS: dict[str, str | None] = {"id": None, "value": None}
ROWS = [[number, "x"] for number in range(6)]
BATCH_ROWS = 2
TURNS = 2
"""Rows in each of three parts: before, meanwhile, afterwards."""
LATER_SECS = 10
"""More than a sink waits before it commits, or tries again."""


def start_outcome(entry: SinkEntry, engine: str, folder: Path) -> str:
    """`refused`: the sink does not start if its folder does not take a file or cannot be made; one
    line names the folder."""
    out = folder / "out"
    out.mkdir(parents=True)
    store = entry.opened(out, tuple(FIELDS))
    with unwritable(out):
        _refuses(entry, store, engine, folder / "1", out)
    assert not store.rows()
    file = folder / "file"
    file.touch()
    below = Store(_moved(store.config, str(out), str(file / "below")), store.rows)
    _refuses(entry, below, engine, folder / "2", file / "below")
    return "refused"


def _refuses(entry: SinkEntry, store: Store, engine: str, folder: Path, out: Path) -> None:
    try:
        ended = write(entry, store, ROWS, FIELDS, engine, folder)
    except ComponentError as error:
        ended = Ended([str(error)], 0, True)
    assert ended.was_refused, f"it has begun: {ended}"
    start = f"{SINK}: cannot write into {out}"
    (line,) = (line for each in ended.errors for line in each.splitlines() if start in line)
    assert ", or name another" in line, line


def _moved(config: Any, before: str, after: str) -> Any:
    if isinstance(config, Mapping):
        return {name: _moved(each, before, after) for name, each in config.items()}
    return config.replace(before, after) if isinstance(config, str) else config


def meanwhile_outcome(entry: SinkEntry, engine: str, folder: Path) -> str:
    """`exact`: its folder does not take a file for a while. A report says so; afterwards each row
    is present once, in a mode without checkpoints each row not counted as failed."""
    out = folder / "out"
    out.mkdir(parents=True)
    store = entry.opened(out, tuple(FIELDS))
    topology = sinking(FIELDS, entry.kind, store.config)
    with classes(given(ROWS), entry.kind):
        if engine == SPARK:
            ended = _on_spark(SparkRun(topology, folder / "checkpoint", BATCH_ROWS), out)
        else:
            with TopologyTester(topology, config={keys.RELIABILITY_MODE: engine}) as tester:
                ended = _natively(tester, engine, out)
    assert any("cannot" in each and str(out) in each for each in ended.errors), str(ended)
    found = sorted(row["id"] for row in store.rows())
    wanted = [number for number, _ in ROWS]
    if engine in (keys.EFFECTIVELY_ONCE, SPARK):
        assert found == wanted, f"{found} {ended}"
        assert not ended.failed, str(ended)
        return "exact"
    assert len(found) + ended.failed == len(wanted), f"{found} {ended}"
    assert {0, 1, 4, 5} <= set(found), f"{found} {ended}"
    return "exact"


def _natively(tester: TopologyTester, engine: str, out: Path) -> Ended:
    is_exact = engine == keys.EFFECTIVELY_ONCE

    def go_on() -> None:
        tester.run_spouts(TURNS)
        if is_exact:
            tester.checkpoint()
        tester.advance(LATER_SECS)

    go_on()
    with unwritable(out):
        go_on()
    go_on()
    tester.finish()
    failed = tester.metrics(SINK)["failed"]
    return Ended([each.text for each in tester.errors(SINK)], failed)


def _on_spark(run: SparkRun, out: Path) -> Ended:
    """The query ends with the line, and is started again."""
    next(run.run())
    try:
        with unwritable(out):
            next(run.run())
        raise AssertionError("a batch is done that could not be written")
    except HeronError as error:
        run.ended.errors.append(str(error))
    run.restart()
    for _ in run.run():
        pass
    return run.ended
