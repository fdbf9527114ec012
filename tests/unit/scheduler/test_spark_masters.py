"""Which masters there are, and whether they have slots for all containers."""

import pytest

from heron_core.errors import HeronError, UsageError
from heron_engine.scheduler.backends.spark.masters import MasterKind, SparkMaster, parse_master
from heron_engine.scheduler.backends.spark.slots import RegistrationWait, check_slots


@pytest.mark.parametrize(
    ("text", "kind", "slots", "one_machine", "url"),
    [
        ("local", MasterKind.LOCAL, 1, True, "local[1,1000]"),
        ("local[3]", MasterKind.LOCAL, 3, True, "local[3,1000]"),
        ("local[3, 2]", MasterKind.LOCAL, 3, True, "local[3,1000]"),
        ("local[*]", MasterKind.LOCAL, 8, True, "local[8,1000]"),
        ("local-cluster[2, 3, 600]", MasterKind.LOCAL_CLUSTER, 6, True, "local-cluster[2, 3, 600]"),
        ("spark://127.0.0.1:7077", MasterKind.STANDALONE, None, True, "spark://127.0.0.1:7077"),
        (
            "spark://localhost:1,[::1]:2",
            MasterKind.STANDALONE,
            None,
            True,
            "spark://localhost:1,[::1]:2",
        ),
        (
            "spark://127.0.0.1:1,far:2",
            MasterKind.STANDALONE,
            None,
            False,
            "spark://127.0.0.1:1,far:2",
        ),
        ("yarn", MasterKind.YARN, None, False, "yarn"),
        ("k8s://https://far:6443", MasterKind.KUBERNETES, None, False, "k8s://https://far:6443"),
    ],
)
def test_masters(
    text: str, kind: MasterKind, slots: int | None, one_machine: bool, url: str
) -> None:
    master = parse_master(text, 8)
    assert (master.kind, master.slots, master.is_one_machine) == (kind, slots, one_machine)
    assert master.url == url


def test_the_addresses_of_a_standalone_master() -> None:
    assert parse_master("spark://a:1,b:2", 8).addresses == (("a", 1), ("b", 2))


@pytest.mark.parametrize("text", ["", "moon", "local[]", "spark://host", "local-cluster[2,1]"])
def test_what_is_no_master_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="is not a Spark master"):
        parse_master(text, 8)


@pytest.mark.parametrize("text", ["local[0]", "local-cluster[0,1,600]"])
def test_a_master_without_cores_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="has no core"):
        parse_master(text, 8)


@pytest.mark.parametrize(
    ("text", "have", "said"),
    [
        ("local[1]", 1, r"local\[1\] has 1 slot, and 3 are needed, .*: use --master 'local\[3\]'"),
        ("local-cluster[2,1,600]", 2, r"has 2 slots, .* 'local-cluster\[3,1,600\]', or .*\(-w 2\)"),
        ("spark://far:7077", 0, r"has 0 slots, and 3 are needed, .* add workers, .*\(-w 1\)"),
    ],
)
def test_too_few_slots_are_told_with_the_cure(text: str, have: int, said: str) -> None:
    with pytest.raises(HeronError, match=said):
        check_slots(parse_master(text, 8), have, 3)


def test_enough_slots_are_enough() -> None:
    check_slots(parse_master("local[3]", 8), 3, 3)


def test_a_topology_that_runs_cannot_be_given_another_master() -> None:
    with pytest.raises(HeronError) as raised:
        check_slots(parse_master("local-cluster[2,1,600]", 8), 2, 3, runs=True)
    assert str(raised.value) == (
        "local-cluster[2,1,600] has 2 slots, and 3 are needed, one for each container: kill the "
        "topology and submit it with --master 'local-cluster[3,1,600]', or pack into fewer "
        "containers (-w 2)"
    )


def registering(text: str) -> RegistrationWait:
    """Two slots are needed; it is second 100."""
    return RegistrationWait(parse_master(text, 8), need=2, since=100.0)


def test_it_waits_while_executors_register() -> None:
    """Each new one of a standalone master gives the next a minute."""
    waiting = registering("spark://far:7077")
    assert not waiting.enough(0, 159.9)
    assert not waiting.enough(1, 159.95)
    assert not waiting.enough(1, 219.9)
    assert waiting.enough(2, 219.94)


def test_a_standalone_master_that_starts_no_more_is_full() -> None:
    waiting = registering("spark://far:7077")
    assert not waiting.enough(1, 101.0)
    with pytest.raises(HeronError, match="has 1 slot, and 2 are needed"):
        waiting.enough(1, 161.0)


def test_yarn_has_a_queue_and_gets_more_time() -> None:
    waiting = registering("yarn")
    assert not waiting.enough(0, 279.9)
    with pytest.raises(HeronError, match="yarn has 0 slots"):
        waiting.enough(0, 280.0)


def test_only_its_own_masters_can_be_enlarged() -> None:
    assert SparkMaster(MasterKind.YARN, "yarn").with_slots(3) == ""


def test_too_few_slots_say_how_large_each_was_to_be() -> None:
    """A standalone master whose workers have 2 cores never starts an executor of 3."""
    wait = RegistrationWait(
        parse_master("spark://h:7077", 8), 2, 100.0, asked="each asks for 3 cores"
    )
    with pytest.raises(HeronError, match=r"has 0 slots, and 2 .* \(each asks for 3 cores\)"):
        wait.enough(0, 100.0 + 3600)
