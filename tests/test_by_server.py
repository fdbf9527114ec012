"""Tests are divided among processes so that none waits for another at the end."""

from pathlib import Path

from tests.by_server import FIRST, REPOSITORY, SERVERS, rank, unit_of


def test_files_that_ask_for_a_server_are_one_unit_and_any_other_is_its_own() -> None:
    session = {
        unit_of(f"tests/spark/{name}.py") for name in ("test_spark_engine", "test_time_zones")
    }
    assert session == {"tests/spark with spark"}
    assert unit_of("tests/spark/test_scheduler_conformance.py") == (
        "tests/spark with standalone_cluster"
    )
    assert unit_of("tests/spark/test_flights_on_spark.py") == "tests/spark/test_flights_on_spark.py"
    assert unit_of("tests/unit/heron_core/test_messages.py").endswith("test_messages.py")


def test_each_server_is_asked_for_by_some_file() -> None:
    """Else its name has changed, and each process starts one of its own."""
    for folder, servers in SERVERS.items():
        files = [each.relative_to(REPOSITORY) for each in (REPOSITORY / folder).glob("test_*.py")]
        units = {unit_of(each.as_posix()) for each in files}
        assert units >= {f"{folder} with {server}" for server in servers}


def test_what_takes_longest_begins() -> None:
    ranks = [rank(REPOSITORY / "tests" / name) for name in ("spark/test_a.py", "unit/a/test_b.py")]
    assert ranks == sorted(ranks)
    assert ranks[0] < ranks[1]
    assert rank(Path(__file__)) == ranks[1]
    every = [rank(REPOSITORY / each) for each in FIRST]
    assert every == sorted(every)
    assert every[-1] < ranks[0]
    assert all((REPOSITORY / each).exists() for each in FIRST)
