"""Every shipped connector keeps all values, on each engine, or documents the exception: values of
each type, None, kills, changed schemas, changed time zones. The results are compared with
docs/CONNECTORS.md."""

import fcntl
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from heron_connectors import folder_lock
from tests.connectors import columns, page
from tests.connectors.fake_kafka import client_in_memory
from tests.connectors.sink_trials import woke_behind_its_copy
from tests.connectors.sinks import POSTGRES, SINKS, SinkEntry
from tests.connectors.sources import POSTGRES as POSTGRES_SOURCES
from tests.connectors.sources import SOURCES, SourceEntry
from tests.postgres_support import MISSING, binaries

pytestmark = [
    # What is killed closes nothing.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
where_it_is = pytest.mark.skipif(binaries() is None, reason=MISSING)
each_sink = pytest.mark.parametrize(
    "entry",
    [
        pytest.param(each, id=each.name, marks=[where_it_is] if each.name == POSTGRES else [])
        for each in SINKS
    ],
)
each_source = pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            each, id=each.name, marks=[where_it_is] if each.name in POSTGRES_SOURCES else []
        )
        for each in SOURCES
    ],
)


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Durability of the disk is out of scope here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    yield
    gc.collect()  # connections of what was killed end here, where their warnings are expected


@pytest.fixture
def client() -> Iterator[None]:
    """Kafka's, in memory."""
    with client_in_memory():
        yield


@pytest.fixture(scope="module")
def text() -> str:
    """Of the page."""
    return page.PAGE.read_text("utf-8")


@each_sink
@pytest.mark.usefixtures("client")
def test_what_goes_into_a_sink_comes_out_of_it(entry: SinkEntry, tmp_path: Path, text: str) -> None:
    said = page.columns_on_page(page.TYPES_OUT, text)[entry.name]
    assert columns.types_out(entry, tmp_path) == said, page.REMAKE


@each_sink
@pytest.mark.usefixtures("client")
def test_a_sink_holds_whatever_happens(entry: SinkEntry, tmp_path: Path, text: str) -> None:
    said = page.columns_on_page(page.TRIALS_OUT, text)[entry.name]
    assert columns.trials_out(entry, tmp_path) == said, page.REMAKE


@each_sink
@pytest.mark.usefixtures("client")
def test_an_attempt_that_wakes_up_behind_its_copy_does_no_harm(
    entry: SinkEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark starts a copy of a hanging task. The locks of the two belong to this process, and still
    exclude each other by the open file, as between two hosts."""
    locks = SimpleNamespace(lockf=fcntl.flock, LOCK_EX=fcntl.LOCK_EX, LOCK_NB=fcntl.LOCK_NB)
    monkeypatch.setattr(folder_lock, "fcntl", locks)
    woke_behind_its_copy(entry, tmp_path)


@each_source
def test_what_is_in_a_source_comes_out_of_it(entry: SourceEntry, tmp_path: Path, text: str) -> None:
    said = page.columns_on_page(page.TYPES_IN, text)[entry.name]
    assert columns.types_in(entry, tmp_path) == said, page.REMAKE


@each_source
def test_a_source_holds_whatever_happens(entry: SourceEntry, tmp_path: Path, text: str) -> None:
    said = page.columns_on_page(page.TRIALS_IN, text)[entry.name]
    assert columns.trials_in(entry, tmp_path) == said, page.REMAKE
