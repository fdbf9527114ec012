"""Shell components of one test; afterwards nothing of them may be left."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from heron_frontends.adapters.multilang import ShellBolt, ShellSpout, child_channel, reader
from heron_frontends.adapters.multilang import spout as spout_module
from tests.unit.heron_frontends.multilang.multilang_support import Shell


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders for pid files are made."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def make(tmp_path: Path, folders: Path) -> Iterator[Callable[..., Shell]]:
    """Makes components, which are closed at the end; no process and no folder may be left."""
    made: list[Shell] = []
    before = set(psutil.Process().children(recursive=True))
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    def make_one(kind: type, **config: Any) -> Shell:
        shell = Shell(kind, tmp_path, {key.replace("__", "."): config[key] for key in config})
        made.append(shell)
        return shell

    yield make_one
    for shell in made:
        shell.component.close()
    assert set(psutil.Process().children(recursive=True)) <= before
    assert not os.listdir(folders)
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 2 * sum(
            not each.started for each in made
        )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats and looks at the clock come every 20 ms instead of every second."""
    monkeypatch.setattr(reader, "HEARTBEAT_SECS", 0.02)
    for module in (child_channel, spout_module):
        monkeypatch.setattr(module, "POLL_SECS", 0.02)


@pytest.fixture
def bolt(make: Callable[..., Shell]) -> Callable[..., Shell]:
    """Makes a bolt with the given config (a__b for a.b)."""
    return lambda **config: make(ShellBolt, **config)


@pytest.fixture
def spout(make: Callable[..., Shell]) -> Callable[..., Shell]:
    """Makes a spout with the given config (a__b for a.b)."""
    return lambda **config: make(ShellSpout, **config)
