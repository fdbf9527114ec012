"""A state as a DataFrame of PySpark: each entry in the partition of its key group, and back."""

from pathlib import Path
from typing import Any

import pytest

from heron_connectors.state_tables import read_state, write_state
from heron_core.errors import UsageError
from heron_core.state.keys import KEY_GROUPS, key_group
from heronpy_compat.spark import state_frame

KEYS = 500


def test_a_state_is_a_frame_of_a_partition_for_each_key_group(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    rows = [(f"w{number}", number) for number in range(KEYS)]
    given = spark.createDataFrame(rows, "key string, value long")
    url = str(tmp_path / "savepoint")
    assert write_state(url, "words", {"count.count": given}, tasks=3) == {"count.count": KEYS}
    frame = state_frame(spark, url, "count.count", key_type="string", value_type="int64")
    assert frame.rdd.getNumPartitions() == KEY_GROUPS
    found = frame.collect()
    assert sorted((row.key, row.value) for row in found) == sorted(rows)
    assert all(row.key_group == key_group(row.key) for row in found)
    tasks = {row.key: row.task for row in read_state(url, "count.count").saved.rows()}
    assert {row.key: row.task for row in found} == tasks
    with pytest.raises(UsageError, match="has no state 'cuont'"):
        state_frame(spark, url, "count.cuont")
