"""Rights on one topology: users and groups of Storm's keys, by login and on loopback."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from heron_core.records import replace
from heron_core.topology_events import ACTED
from heron_tracker.auth.access import ANYBODY, Caller, Role, caller_of_claims, topology_acted_on
from heron_tracker.auth.topology_access import TopologyAccess, Visitor
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import OpenIdOptions, TrackerOptions
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import snapshot, stats

OPERATOR, READER = "an-operators-token", "a-readers-token-1"
LEVEL = {"target": "count", "level": "debug"}
SET_LEVEL = "/api/topologies/words/log-level"


class Service:
    """`heronpy ui` with two tokens, and one topology of this config."""

    def __init__(self, **config: Any) -> None:
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.has_event = threading.Event()

        def look(name: str) -> TopologySnapshot:
            found = snapshot(stats())
            assert found.spec is not None
            settings = {key.replace("_", "."): value for key, value in config.items()}
            return replace(found, spec=replace(found.spec, config=settings))

        def master(name: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
            self.told.append((command, arguments))
            if command == ACTED:
                self.has_event.set()
            return {"changed": "it is"}

        options = TrackerOptions(token=OPERATOR, read_token=READER, first_poll_secs=60.0)
        self.asked = Asked(look, options=options)
        self.asked.use(replace(self.asked.service, ask_master=master))

    def status(self, method: str, path: str, token: str, body: Any = None) -> int:
        """Of the answer."""
        return self.asked.send(method, path, body, authorization=f"Bearer {token}").status


@pytest.mark.parametrize(
    ("config", "reads", "acts"),
    [
        ({}, 200, 403),
        ({"topology_users": ["reader-token"]}, 200, 200),
        ({"topology_users": "ada, reader-token"}, 200, 200),
        ({"topology_readonly_users": ["reader-token"]}, 200, 403),
        ({"topology_users": ["ada"]}, 403, 403),
        ({"topology_groups": []}, 403, 403),
        ({"topology_users": 7}, 403, 403),
    ],
)
def test_a_readers_token_has_the_rights_that_the_topology_gives(
    config: dict[str, Any], reads: int, acts: int
) -> None:
    service = Service(**config)
    assert service.status("GET", "/api/v1/topology/words", READER) == reads
    assert service.status("GET", "/topologies/info?topology=words", READER) == reads
    assert service.status("POST", SET_LEVEL, READER, LEVEL) == acts
    # Without options nothing is rebalanced, so the state store is not needed.
    rebalance = service.status("POST", "/api/v1/topology/words/rebalance/0", READER)
    assert (rebalance == 403) is (acts == 403)
    # An action that belongs to no topology needs an operator of the service.
    assert service.status("POST", "/api/topologies?name=x&file=x.py", READER, b"x = 1") == 403
    assert service.status("GET", "/api/v1/topology/words", OPERATOR) == 200
    assert service.status("POST", SET_LEVEL, OPERATOR, LEVEL) == 200
    listed = service.asked.get("/api/v1/topology/summary", authorization=f"Bearer {READER}")
    assert len(listed.json["topologies"]) == (reads == 200)
    metrics = service.asked.get("/metrics", authorization=f"Bearer {READER}").text
    assert ('topology="words"' in metrics) is (reads == 200)
    service.asked.close()


def test_a_refusal_is_a_sentence_and_an_event() -> None:
    service = Service(topology_readonly_users=["reader-token"])
    refused = service.asked.post(SET_LEVEL, LEVEL, authorization=f"Bearer {READER}")
    assert refused.json["message"] == (
        "reader-token may not act on words: its submitter, topology.users, topology.groups and the "
        "operators of the service may"
    )
    assert service.has_event.wait(30)
    ((command, event),) = service.told
    assert (command, event["what"]) == (ACTED, f"refused: POST {SET_LEVEL}")
    assert event["requester"]["user"] == "reader-token"
    assert service.status("POST", SET_LEVEL, READER, LEVEL) == 403
    assert len(service.told) == 1  # at most one a minute
    service.asked.close()


def test_groups_come_from_the_login() -> None:
    options = OpenIdOptions(
        issuer="https://id.example", audience="heronpy", operator=("roles", "stream-operators")
    )
    caller = caller_of_claims({"sub": "ada", "groups": ["shop", 7], "roles": "dev"}, options)
    assert caller == Caller(Role.READER, "ada", frozenset({"shop", "dev"}))
    visitor = Visitor(caller, "10.0.0.7", 1, 2)
    shop = TopologyAccess.of({"topology.groups": ["shop"]}, "bob")
    assert shop.may_operate(visitor)
    readers = TopologyAccess.of({"topology.readonly.groups": ["dev"]}, "bob")
    assert (readers.may_read(visitor), readers.may_operate(visitor)) == (True, False)
    assert TopologyAccess.of({"topology.users": []}, "ada").may_operate(visitor)


def test_without_a_login_the_user_of_the_machine_counts() -> None:
    """A service on loopback of a machine with several users."""
    access = TopologyAccess.of({"topology.users": ["ada"]}, "bob")
    for user, expected in (("ada", True), ("bob", True), ("root", True), ("eve", False)):
        visitor = Visitor(ANYBODY, "127.0.0.1", 1, 2, Caller(Role.OPERATOR, user))
        assert access.may_operate(visitor) is expected
        assert access.may_read(visitor) is expected
        assert TopologyAccess.of({}, "bob").may_operate(visitor)


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("POST", "/api/v1/topology/words-1/kill/0", "", "words-1"),
        ("GET", "/api/v1/topology/words-1", "", None),
        ("GET", "/api/v1/topology/words-1/profiling/start/h:1/5", "", "words-1"),
        ("POST", "/api/topologies/words/restart", "", "words"),
        ("POST", "/api/topologies", "name=words", None),
        ("POST", "/api/sample", "topology=words&component=count", "words"),
        ("POST", "/logout", "", None),
    ],
)
def test_actions_are_known_by_their_paths(
    method: str, path: str, query: str, expected: str | None
) -> None:
    assert topology_acted_on(method, path, query) == expected
