"""The wheel in clean environments: documented programs run with the named extra, and without the
extra a single line names the extra."""

import json
import socket
import tempfile
from pathlib import Path

import pytest

from heron_core.errors import JavaMissing
from heron_io.java import find_java
from tests.extras.clean_environment import ROOT, CleanEnvironment, Installed
from tests.extras.killed_program import KilledProgram
from tests.spark.spark_scheduler_support import standalone

pytestmark = pytest.mark.timeout(3600)

GUIDE, CONNECTORS = "docs/GUIDE.md", "docs/CONNECTORS.md"
TOTALS = ["0 166833", "1 166167", "2 166500"]
"""Output of totals.py."""
LINES = "".join(f"line {number}\n" for number in range(1000))
SCRIPT_LINES_MAX = 30
ROCKSDB = ("-o", "topology.state.backend=rocksdb")


def some_flights(environment: CleanEnvironment) -> None:
    """Two files of a table."""
    folder = environment.work / "flights"
    folder.mkdir()
    (folder / "january.csv").write_text("carrier,dep_delay\nUA,2\nAA,45\n")
    (folder / "february.csv").write_text("carrier,dep_delay\nDL,\nB6,31\n")
    environment.save(CONNECTORS, "late_flights.py")


def some_lines(environment: CleanEnvironment) -> None:
    """A file to be copied."""
    (environment.work / "lines.txt").write_text(LINES)
    environment.save(CONNECTORS, "copy_lines.py")


def copied(environment: CleanEnvironment) -> str:
    files = sorted((environment.work / "copy").glob("part-*"))
    return "".join(each.read_text() for each in files)


def in_store(url: str) -> tuple[str, str]:
    """The option for checkpoints in a store."""
    return "-o", f"topology.checkpoint.store={url}"


def totals_of(printed: str) -> list[str]:
    """The lines of totals.py, without the name of the instance."""
    return [line.partition("| ")[2] for line in printed.splitlines() if "| " in line]


def test_the_wheel_alone_runs_the_quickstart_and_says_which_extra_is_missing(
    installed: Installed,
) -> None:
    alone = installed()
    assert alone.heronpy("--version").succeeded().out.startswith("heronpy")
    alone.heronpy("quickstart", "demo").succeeded()
    alone.heronpy("run", "-t", 2, folder="demo").succeeded()
    alone.save(GUIDE, "words.py", "totals.py")
    assert totals_of(alone.heronpy("run", "totals.py").succeeded().out) == TOTALS
    some_flights(alone)
    alone.save(CONNECTORS, "copy_topic.py", "lines_to_delta.py", "lines_to_iceberg.py")
    some_lines(alone)
    alone.heronpy("run", "copy_lines.py").succeeded()
    assert copied(alone) == LINES
    for extra, words in (
        ("spark", ("run", "totals.py", "--engine", "spark")),
        ("spark", ("run", "totals.py", "--scheduler", "spark", "--master", "local[2]")),
        ("png", ("visualize", "totals.py", "-f", "png")),
        ("tables", ("run", "late_flights.py")),
        ("kafka", ("run", "copy_topic.py")),
        ("delta", ("run", "lines_to_delta.py")),
        ("iceberg", ("run", "lines_to_iceberg.py")),
        ("rocksdb", ("run", "copy_lines.py", *ROCKSDB)),
        ("ui", ("ui", "--port", 0)),
        ("stores", ("run", "copy_lines.py", *in_store("s3://nowhere/states"))),
    ):
        line = alone.heronpy(*words).refused()
        assert f"pip install 'heronpy-topologies[{extra}]'" in line, words


@pytest.mark.parametrize("others_first", [True, False])
def test_distributions_with_packages_of_the_same_names_stay_whole(
    wheel: Path, programs: Path, tmp_path: Path, others_first: bool
) -> None:
    both = CleanEnvironment(tmp_path, programs)
    order = ("scheduler stream-manager", str(wheel))
    for each in order if others_first else reversed(order):
        both.install(*each.split())
    both.heronpy("quickstart", "demo").succeeded()
    both.heronpy("run", "-t", 2, folder="demo").succeeded()
    program = "import scheduler, stream_manager; print(scheduler.Scheduler)"
    both.run("python", "-c", program).succeeded()


def test_the_service_needs_nothing_but_its_extra(installed: Installed) -> None:
    """The service has all its parts once it reports the port as used."""
    alone = installed("ui")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = alone.heronpy("ui", "--port", taken.getsockname()[1]).refused()
    assert "Address already in use" in line


def test_spark_alone_runs_on_the_java_that_is_installed_or_says_what_brings_one(
    installed: Installed,
) -> None:
    spark = installed("spark")
    spark.save(GUIDE, "totals.py")
    line = spark.heronpy("run", "totals.py", "--engine", "spark").refused()
    assert "no Java found (java): install Java 17 or newer, or: pip install" in line
    assert line.endswith("'heronpy-topologies[java]'")
    line = spark.heronpy("run", "totals.py", "--zookeeper", "embedded").refused()
    assert line.endswith("'heronpy-topologies[java]'")
    try:
        home = Path(find_java()).resolve().parents[1]
    except JavaMissing:
        return
    run = spark.run("env", f"JAVA_HOME={home}", "heronpy", "run", "totals.py", "--engine", "spark")
    assert totals_of(run.succeeded().out) == TOTALS
    assert "Warning" not in run.err


def test_spark_and_java_need_nothing_that_is_installed(installed: Installed) -> None:
    both = installed("spark", "java")
    both.save(GUIDE, "totals.py")
    for words in (
        ("--engine", "spark", "--checkpoint", "totals.checkpoint"),
        ("--scheduler", "spark", "--master", "local[2]"),
        ("--zookeeper", "embedded"),
    ):
        run = both.heronpy("run", "totals.py", *words).succeeded()
        assert totals_of(run.out) == TOTALS, words


def test_java_alone_leaves_spark_to_its_extra(installed: Installed) -> None:
    java = installed("java")
    java.save(GUIDE, "totals.py")
    line = java.heronpy("run", "totals.py", "--zookeeper", "embedded").refused()
    assert line.endswith("'heronpy-topologies[spark]'")


def test_tables_are_read_and_written(installed: Installed) -> None:
    tables = installed("tables")
    some_flights(tables)
    tables.heronpy("run", "late_flights.py").succeeded()
    look = "import json, pyarrow.parquet as p; print(json.dumps(p.read_table('late').to_pylist()))"
    rows = tables.run("python", "-c", look).succeeded().out
    assert sorted(json.loads(rows), key=str) == [
        {"carrier": "AA", "dep_delay": 45},
        {"carrier": "B6", "dep_delay": 31},
    ]


def test_state_is_in_rocksdb_and_its_checkpoints_on_any_file_system(installed: Installed) -> None:
    both = installed("rocksdb", "stores")
    some_lines(both)
    store = in_store(f"local://{both.work}/states")
    both.heronpy("run", "copy_lines.py", *ROCKSDB, *store).succeeded()
    assert copied(both) == LINES
    assert (both.work / "states").is_dir()


def test_lines_become_an_iceberg_table(installed: Installed) -> None:
    iceberg = installed("iceberg")
    some_lines(iceberg)
    iceberg.save(CONNECTORS, "lines_to_iceberg.py")
    iceberg.heronpy("run", "lines_to_iceberg.py").succeeded()
    look = (
        "import json; from lines_to_iceberg import CATALOG; from pyiceberg.catalog import"
        " load_catalog; table = load_catalog('default', **CATALOG).load_table('texts.lines');"
        " print(json.dumps(table.scan().to_arrow()['line'].to_pylist()))"
    )
    lines = json.loads(iceberg.run("python", "-c", look).succeeded().out)
    assert sorted(lines) == sorted(LINES.splitlines())


def test_lines_become_a_delta_table(installed: Installed) -> None:
    delta = installed("delta")
    some_lines(delta)
    delta.save(CONNECTORS, "lines_to_delta.py")
    delta.heronpy("run", "lines_to_delta.py").succeeded()
    look = (
        "import deltalake, json; table = deltalake.DeltaTable('table').to_pyarrow_table();"
        " print(json.dumps(table['line'].to_pylist()))"
    )
    lines = json.loads(delta.run("python", "-c", look).succeeded().out)
    assert sorted(lines) == sorted(LINES.splitlines())


def test_a_pyspark_program_is_killed_and_continued_on_every_master(
    installed: Installed, tmp_path: Path
) -> None:
    """word_counts.py of SPARK.md: each row is in its Delta table once."""
    alone = installed("spark")
    alone.save("docs/SPARK.md", "word_counts.py")
    assert len((alone.work / "word_counts.py").read_text().splitlines()) <= SCRIPT_LINES_MAX
    (tmp_path / "cluster").mkdir()
    with (
        tempfile.TemporaryDirectory(prefix="heron-") as scratch,
        standalone(tmp_path / "cluster", 2, spark_home_of(alone)) as cluster,
    ):
        small = "--conf spark.cores.max=2 --conf spark.executor.memory=512m"
        for name, master in (
            ("local", "local[2]"),
            ("local-cluster", "local-cluster[2,1,1024]"),
            ("standalone", f"{cluster.url} {small}"),
        ):
            program = KilledProgram(alone, name, master, Path(scratch))
            for _ in range(3):
                program.add_file()
            with program.running():
                program.until_batches(1)
            program.add_file()
            with program.running():
                program.until_batches(4)
            assert program.written() == program.expected, name


def spark_home_of(environment: CleanEnvironment) -> str:
    """Spark's folder in the environment."""
    look = "from pyspark.find_spark_home import _find_spark_home as find; print(find())"
    return environment.run("python", "-c", look).succeeded().out.strip()


def test_a_topic_is_copied(installed: Installed) -> None:
    kafka = installed("kafka")
    kafka.save(CONNECTORS, "copy_topic.py")
    script = ROOT / "tests" / "extras" / "copy_in_mock_kafka.py"
    assert "copied 100" in kafka.run("python", script, "heronpy").succeeded().out


def test_a_topology_is_drawn_as_png(installed: Installed) -> None:
    png = installed("png")
    png.save(GUIDE, "words.py")
    png.heronpy("visualize", "words.py", "-f", "png", "-o", "words.png").succeeded()
    assert (png.work / "words.png").read_bytes().startswith(b"\x89PNG")


def test_the_quickstart_s_test_passes(installed: Installed) -> None:
    test = installed("test")
    test.heronpy("quickstart", "demo").succeeded()
    assert "2 passed" in test.run("python", "-m", "pytest", folder="demo").succeeded().out
