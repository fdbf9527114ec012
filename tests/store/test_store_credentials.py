"""Nodes that were written with credentials are for their owner alone."""

import pytest

from heron_core.errors import StateStoreError, UsageError
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_io.state_store.opening import open_store
from heron_io.state_store.zookeeper_access import CREDENTIALS_VARIABLE


def test_a_stranger_cannot_read_the_keys(
    zookeeper: EmbeddedZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared ZooKeeper: the key pair of a topology lies there, and neighbours are curious."""
    monkeypatch.setenv(CREDENTIALS_VARIABLE, "owner:secret")
    owner = open_store(f"zk://{zookeeper.address}/credentials")
    owner.put("/keys/words", {"secret": "x"})
    monkeypatch.delenv(CREDENTIALS_VARIABLE)
    try:
        with pytest.raises(StateStoreError, match="HERONPY_ZOOKEEPER_AUTH"):
            open_store(f"zk://{zookeeper.address}/credentials").get("/keys/words")
        assert owner.get("/keys/words") == {"secret": "x"}
    finally:
        owner.delete("/keys/words")
        owner.close()


def test_credentials_without_a_password_are_a_usage_error(
    zookeeper: EmbeddedZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody exports the user name alone."""
    monkeypatch.setenv(CREDENTIALS_VARIABLE, "owner")
    with pytest.raises(UsageError, match="USER:PASSWORD"):
        open_store(zookeeper.url)
