"""Files of SQL as topologies: CREATE TABLE, SELECT, and what is refused at loading."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from heron_core.errors import HeronError
from heron_frontends.loading.load import load_topology
from heronpy_compat.testing import TopologyTester

TABLE = "CREATE TABLE rows (name STRING, at TIMESTAMP, size INT, open BOOLEAN, part DOUBLE)"
LINES = [
    {"name": "a", "at": "2023-01-01T00:00:00", "size": 1, "open": True, "part": 0.5},
    {"name": "b", "at": "2023-01-01T01:00:00+01:00", "size": "2", "more": 7},
    {"name": "c", "at": "2023-01-01 00:00:02", "size": None, "open": "false", "part": 2},
]


def write(folder: Path, text: str) -> str:
    (folder / "rows.json").write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    (folder / "rows.csv").write_text(
        'name,at,size,open,part\na,2023-01-01,1,TRUE,0.5\nb,2023-01-01,"",,\n'
    )
    (folder / "query.sql").write_text(text)
    return str(folder / "query.sql")


def printed(path: str, capsys: pytest.CaptureFixture[str], **config: Any) -> list[Any]:
    with TopologyTester(load_topology(path), config=config) as tester:
        tester.run_spouts()
        tester.finish()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_of_json_have_their_declared_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column that a row has not is NULL, one that is not declared is left out."""
    path = write(tmp_path, f"{TABLE} USING json OPTIONS (path 'rows.json');\nSELECT * FROM rows;")
    midnight = "2023-01-01T00:00:00+00:00"
    assert printed(path, capsys) == [
        {"name": "a", "at": midnight, "size": 1, "open": True, "part": 0.5},
        {"name": "b", "at": midnight, "size": 2, "open": None, "part": None},
        {"name": "c", "at": "2023-01-01T00:00:02+00:00", "size": None, "open": False, "part": 2.0},
    ]


def test_rows_of_csv_are_a_stream_and_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same file on both sides; each SELECT has a source of its own."""
    path = write(
        tmp_path,
        f"""{TABLE} USING csv OPTIONS (path 'rows.csv', lag '5 seconds');
        SELECT r.name, other.part FROM rows r JOIN rows other ON r.name = other.name;
        SELECT window.start AS since, count(size) AS n FROM rows GROUP BY window(at, '1 day');""",
    )
    topology = load_topology(path)
    assert topology.name == "query"
    assert printed(path, capsys) == [
        {"name": "a", "part": 0.5},
        {"name": "b", "part": None},
        {"since": "2023-01-01T00:00:00+00:00", "n": 1},
    ]


def test_a_source_continues_where_it_was(tmp_path: Path) -> None:
    path = write(tmp_path, f"{TABLE} USING json OPTIONS (path 'rows.json'); SELECT name FROM rows")
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    with TopologyTester(load_topology(path), config=config) as tester:
        tester.run_spouts(2)
        tester.checkpoint()
        tester.crash("generator-1")
        tester.run_spouts()
        (shown,) = tester.component("generator-1")
        assert shown._generator.position() == len(LINES)
        names = [each[0] for each in tester.values("generator-1", "output")]
        assert len(names) == len(LINES)


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "not a line of JSON"), ("[1]", "not an object of JSON"),
     ('{"size": "x"}', "size is not of its type: 'x'"), ('{"open": 7}', "open is not of its type")],
)  # fmt: skip
def test_a_row_that_does_not_fit_fails(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"{TABLE} USING json OPTIONS (path 'rows.json'); SELECT name FROM rows")
    with (tmp_path / "rows.json").open("a") as file:
        file.write(line + "\n")
    with TopologyTester(load_topology(path)) as tester:
        tester.run_spouts()
        (name,) = (each for each in tester._engine.topology.by_name if each.startswith("map-1"))
        (problem,) = tester.errors(name)
        assert message in str(problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{TABLE} USING json OPTIONS (path 'rows.json')", "a SELECT is missing"),
        (f"{TABLE} USING json OPTIONS (path 'missing.json')", "missing.json is not a file"),
        (f"{TABLE} USING json", "needs OPTIONS"),
        (f"{TABLE} USING parquet OPTIONS (path 'rows.json')", "is USING parquet: json or csv"),
        (f"{TABLE}", "is USING nothing: json or csv"),
        (f"{TABLE} USING json OPTIONS (path 'rows.json', lagg '1')", "options: path, lag"),
        (f"{TABLE} USING json OPTIONS (path 'rows.json', lag '1')", "the lag of rows is not a"),
        ("CREATE TABLE rows (name ARRAY<INT>) USING json OPTIONS (path 'rows.json')", "the type"),
        ("CREATE VIEW rows AS SELECT 1", "CREATE TABLE name"),
        ("SELECT name FROM rows", "no table is called rows"),
        (f"{TABLE} USING csv OPTIONS (path 'rows.csv'); " * 2, "two tables are called rows"),
        (f"{TABLE} USING csv OPTIONS (path 'rows.csv'); SELECT nam FROM rows", "rows has no col"),
        ("SELECT name FROM rows ORDER BY name", "ORDER BY is not supported"),
    ],
)
def test_what_is_wrong_is_said_at_loading_with_its_file(
    tmp_path: Path, text: str, message: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(HeronError, match=message) as caught:
        load_topology(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)
