"""A name that is being submitted is taken, before and after its scheduler is there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from heron_core.errors import NameInUse
from heron_core.state_tree import execution_path, scheduler_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler import registration
from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.registration import is_alive, register
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.opening import open_store

TOPOLOGY = TopologySpec("words", (ComponentSpec("lines", True, "examples.word_count.Lines", 1),))


@pytest.fixture
def submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submission:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    home = Home(str(tmp_path / "home"))
    return Submission(TOPOLOGY, pack(TOPOLOGY), f"file://{tmp_path}/state", home, False)


def test_a_second_submit_before_the_scheduler_is_there_is_refused(submission: Submission) -> None:
    """Its scheduler takes a moment to begin: until then the command stands for the scheduler."""
    register(submission, LocalBackend())
    with open_store(submission.store_url) as store:
        before = store.get(execution_path("words"))
        assert is_alive(store.get(scheduler_path("words")))
        with pytest.raises(NameInUse, match=rf"already running \(scheduler pid {os.getpid()}"):
            register(submission, LocalBackend())
        assert store.get(execution_path("words")) == before


def test_a_second_submit_between_two_nodes_of_the_first_waits_for_the_first(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"host": "elsewhere", "pid": 1, "started": 1.0}
    with open_store(submission.store_url) as store:
        store.create(topology_path("words"), {})

        def wait_until(is_known: Callable[[], bool], _: float) -> bool:
            assert not is_known()
            store.put(scheduler_path("words"), own)
            return is_known()

        monkeypatch.setattr(registration, "wait_until", wait_until)
        with pytest.raises(NameInUse, match="already running"):
            register(submission, LocalBackend())
        assert store.get(scheduler_path("words")) == own


def test_what_a_killed_submit_has_left_is_replaced(
    submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "SUBMITTED_SECS", 0.1)
    with open_store(submission.store_url) as store:
        store.create(topology_path("words"), {})
        register(submission, LocalBackend())
        assert is_alive(store.get(scheduler_path("words")))
