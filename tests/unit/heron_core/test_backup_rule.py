"""Backup of states in the memory of other containers: the rules that all processes share."""

import pytest

from heron_core import config as keys
from heron_core.config.effects import idle_keys
from heron_core.errors import TopologyError
from heron_core.state.backup import BackupRule, check_containers, is_final_by, ring_after
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.validation import check_native
from heron_engine.scheduler.packing import pack

BACKED_UP = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE, keys.BACKUP: keys.MEMORY}


def topology(**config: object) -> TopologySpec:
    given = {key.replace("_", "."): value for key, value in config.items()}
    spout = ComponentSpec("words", True, "module.Words", 4)
    return TopologySpec("words", (spout,), {**BACKED_UP, **given})


@pytest.mark.parametrize("every", [1, 2, 3, 10])
def test_one_of_so_many_numbers_is_durable_and_the_next_is_never_far(every: int) -> None:
    rule = BackupRule(every, 1)
    assert [n for n in range(1, 41) if rule.is_durable(n)] == list(range(1, 41, every))
    for number in range(40):
        following = rule.durable_after(number)
        assert rule.is_durable(following)
        assert number < following <= number + every


def test_the_states_of_each_container_go_round_the_others() -> None:
    assert [ring_after(each, (1, 2, 3, 5))[:2] for each in (1, 2, 3, 5)] == [
        [2, 3],
        [3, 5],
        [5, 1],
        [1, 2],
    ]
    assert ring_after(1, (1,)) == []


def test_all_checkpoints_are_final_without_a_backup() -> None:
    assert is_final_by({keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})(7)
    assert BackupRule.of({keys.BACKUP: keys.MEMORY}) is None  # at most once
    is_final = is_final_by({**BACKED_UP, keys.BACKUP_DURABLE_EVERY: 3})
    assert [number for number in range(1, 8) if is_final(number)] == [1, 4, 7]


def test_one_container_is_too_few() -> None:
    one, two = topology(topology_stmgrs=1), topology(topology_stmgrs=2)
    with pytest.raises(TopologyError, match=r"takes two containers or more.*topology\.stmgrs to 2"):
        check_containers(one, pack(one))
    check_containers(two, pack(two))


def test_a_state_larger_than_memory_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"topology\.state\.backend is rocksdb"):
        check_native(topology(topology_state_backend="rocksdb"))


def test_a_limit_without_a_backup_has_no_effect_and_is_said_to_have_none() -> None:
    config = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE, keys.BACKUP_BYTES_MAX: 5}
    (idle,) = idle_keys(TopologySpec("words", (), config))
    assert (idle.key, idle.why) == (keys.BACKUP_BYTES_MAX, f"without {keys.BACKUP}: memory")
