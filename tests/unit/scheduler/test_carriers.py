"""One command at a time carries out an operation on a topology that a cluster runs by itself."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.operations import OperationKind
from heron_core.state_tree import carrier_path
from heron_engine.scheduler.carriers import CarrierClaim, carrier_of, claiming
from heron_io.state_store.file_store import FileStore

NAME = "words"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[FileStore, FileStore]]:
    """Those of two commands."""
    with FileStore(str(tmp_path)) as first, FileStore(str(tmp_path)) as second:
        yield first, second


def test_a_second_command_is_refused_and_names_the_first(
    stores: tuple[FileStore, FileStore],
) -> None:
    first, second = stores
    with claiming(first, NAME, OperationKind.KILL):
        with (
            pytest.raises(HeronError, match=rf"a kill of words .*\(pid {os.getpid()}\), since 2"),
            claiming(second, NAME, OperationKind.KILL),
        ):
            pytest.fail("both carry out a kill")
        assert carrier_of(second, NAME, OperationKind.KILL) is not None, (
            "the refused one took it away"
        )
        with claiming(second, NAME, OperationKind.UPDATE):
            pass  # another kind
    with claiming(second, NAME, OperationKind.KILL):
        assert carrier_of(first, NAME, OperationKind.KILL) is not None
    assert carrier_of(first, NAME, OperationKind.KILL) is None


def test_a_command_that_has_ended_anyhow_is_in_no_way(stores: tuple[FileStore, FileStore]) -> None:
    first, second = stores
    CarrierClaim(first, NAME, OperationKind.UPDATE).keep()
    first.close()
    with claiming(second, NAME, OperationKind.UPDATE):
        pass


DEAD = {"user": "ada", "host": socket.gethostname(), "pid": os.getpid(), "since": "noon",
        "started": "before this process"}  # fmt: skip


def test_the_node_of_a_killed_command_is_waited_for_until_its_session_ends(
    stores: tuple[FileStore, FileStore],
) -> None:
    """ZooKeeper removes it seconds after kill -9; nothing says meanwhile that the command lives."""
    first, second = stores
    path = carrier_path(NAME, OperationKind.UPDATE)
    first.create(path, DEAD, ephemeral=True)
    assert carrier_of(second, NAME, OperationKind.UPDATE) is None
    session = threading.Timer(0.2, first.delete, [path])
    session.start()
    with claiming(second, NAME, OperationKind.UPDATE):
        assert carrier_of(first, NAME, OperationKind.UPDATE) is not None
    session.join()


def test_a_node_of_a_killed_command_that_does_not_go_is_in_the_way(
    stores: tuple[FileStore, FileStore],
) -> None:
    first, second = stores
    first.create(carrier_path(NAME, OperationKind.RESTART), DEAD, ephemeral=True)
    with pytest.raises(HeronError, match=r"a restart of words is under way \(ada .*its command$"):
        CarrierClaim(second, NAME, OperationKind.RESTART).begin(dead_secs=0.1)


def test_a_lost_session_gives_the_node_back_unless_another_command_has_come(
    stores: tuple[FileStore, FileStore],
) -> None:
    first, second = stores
    claim = CarrierClaim(first, NAME, OperationKind.KILL)
    claim.keep()
    first.delete(carrier_path(NAME, OperationKind.KILL))
    claim.keep()
    assert carrier_of(second, NAME, OperationKind.KILL) is not None

    first.delete(carrier_path(NAME, OperationKind.KILL))
    second.create(carrier_path(NAME, OperationKind.KILL), {
        "user": "ada", "host": "east", "pid": 7, "since": "noon"
    }, ephemeral=True)  # fmt: skip
    with pytest.raises(HeronError, match=r"\(ada on east \(pid 7\), since noon\)"):
        claim.keep()
    claim.end()
    assert carrier_of(first, NAME, OperationKind.KILL) is not None, "it is not ours to remove"


def test_a_node_that_is_nonsense_says_where_it_stands(stores: tuple[FileStore, FileStore]) -> None:
    first, second = stores
    second.create(carrier_path(NAME, OperationKind.KILL), {"pid": "seven"}, ephemeral=True)
    with (
        pytest.raises(HeronError, match="delete /carriers/words/kill"),
        claiming(first, NAME, OperationKind.KILL),
    ):
        pytest.fail("it is taken")
