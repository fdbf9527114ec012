"""Queries that run in the tester."""

from collections.abc import Mapping
from typing import Any

from heron_api.topology import TopologyBuilder
from heronpy_compat.sql import SqlStream, sql
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.streamlet.streamlet_support import nothing

APART = {"topology.streamlet.fusion": False}
LAG_MS = 5000


def running(
    text: str, streams: Mapping[str, Any], tables: Any = None, **options: Any
) -> TopologyTester:
    """The topology of a query over collections; the stage of its rows is `rows`."""
    builder, topology = Builder(), TopologyBuilder("Query")
    topology.set_config(APART)
    sources = {
        name: SqlStream(builder.from_collection(rows), lag_ms=LAG_MS)
        for name, rows in streams.items()
    }
    sql(text, sources, tables).set_name("rows").consume(nothing)
    builder.build(topology)
    return TopologyTester(topology, **options)


def rows_of(tester: TopologyTester) -> list[dict[str, Any]]:
    """What the query has emitted."""
    return [each[0] for each in tester.values("rows", "output")]


def queried(text: str, streams: Mapping[str, Any], tables: Any = None) -> list[dict[str, Any]]:
    """All rows of a query."""
    with running(text, streams, tables) as tester:
        tester.run_spouts()
        tester.finish()
        return rows_of(tester)
