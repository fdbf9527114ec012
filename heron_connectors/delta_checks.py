"""Rows rejected by a Delta table's rules: CHECK constraints, invariants, generated columns,
required values.

Delta has no savepoints, and a write reports only the number of rejected rows. A rejected write
is therefore repeated in parts, on an empty table of equal schema in a folder of the process, one
rule at a time: the search finds each rejected row and its rule.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

CONSTRAINT = "delta.constraints."
"""Before a constraint's name in the configuration of a table."""
OF_SCHEMA = "a rule of its schema (a required or computed value, or an invariant)"
REFUSED = re.compile(r"Invalid data found: (\d+) rows failed validation check")
"""deltalake's error for rejected rows; any other error has a different cause."""
RULE_CHARACTERS = 200
"""Of a rule's text, which may be long."""

Refusing = Callable[[Sequence[int]], int]
"""How many of the rows at some positions are refused; 0 if all are taken."""


def rows_refused(error: Exception) -> int:
    """How many rows an error of a write is about; 0 if it is about something else."""
    found = REFUSED.search(str(error))
    return int(found[1]) if found else 0


def refused_among(positions: Sequence[int], refusing: Refusing) -> list[int]:
    """Positions of rejected rows. One among n costs about 2 log2(n) queries; adjacent rejected
    rows cost as much as one."""
    refused: list[int] = []
    waiting = [list(positions)]
    while waiting:
        some = waiting.pop()
        count = refusing(some) if some else 0
        if count >= len(some):
            refused += some
        elif count:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return refused


def refused_rows(deltalake: Any, table: Any, rows: Any) -> dict[int, str]:
    """Position -> which rule of a deltalake.DeltaTable refuses that row of a pyarrow.Table; errors
    of deltalake that are about something else pass through."""
    refused: dict[int, str] = {}
    for rule, configuration in _rules(table):
        with _empty_like(table, configuration) as folder:

            def refusing(some: Sequence[int], folder: str = folder) -> int:
                return _refused_by(deltalake, folder, rows.take(some))

            left = [at for at in range(rows.num_rows) if at not in refused]
            for at in refused_among(left, refusing):
                refused[at] = f"the table refuses it by {rule}"
    return refused


def _rules(table: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """(description of a rule, table configuration with the rule and the rule's schema)"""
    yield OF_SCHEMA, {}
    for key, text in sorted(table.metadata().configuration.items()):
        if key.startswith(CONSTRAINT):
            rule = f"CHECK {key.removeprefix(CONSTRAINT)} ({text})"
            yield rule[:RULE_CHARACTERS], {key: text}


def _refused_by(deltalake: Any, folder: str, rows: Any) -> int:
    try:
        deltalake.write_deltalake(folder, rows, mode="append", schema_mode="merge")
    except Exception as error:
        if count := rows_refused(error):
            return count
        raise
    return 0


@contextmanager
def _empty_like(table: Any, configuration: dict[str, str]) -> Iterator[str]:
    """The folder of an empty table with the schema of another one: it is gone with the context."""
    with tempfile.TemporaryDirectory(prefix="heronpy-delta-") as folder:
        log = os.path.join(folder, "_delta_log")
        os.mkdir(log)
        with open(os.path.join(log, f"{0:020}.json"), "w", encoding="utf-8") as file:
            actions = (_protocol_of(table), _metadata_of(table, configuration))
            file.writelines(json.dumps(each) + "\n" for each in actions)
        yield folder


def _protocol_of(table: Any) -> dict[str, Any]:
    table_protocol = table.protocol()
    protocol: dict[str, Any] = {
        "minReaderVersion": table_protocol.min_reader_version,
        "minWriterVersion": table_protocol.min_writer_version,
    }
    if table_protocol.reader_features:
        protocol["readerFeatures"] = list(table_protocol.reader_features)
    if table_protocol.writer_features:
        protocol["writerFeatures"] = list(table_protocol.writer_features)
    return {"protocol": protocol}


def _metadata_of(table: Any, configuration: dict[str, str]) -> dict[str, Any]:
    table_metadata = table.metadata()
    return {
        "metaData": {
            "id": str(table_metadata.id),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": table.schema().to_json(),
            "partitionColumns": list(table_metadata.partition_columns),
            "configuration": configuration,
        }
    }
