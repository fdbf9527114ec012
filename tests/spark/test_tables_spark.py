"""Rows read by Spark become tuples, each once, through any kills; and a sink's files hold each
once."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow as arrow
import pytest
from pyarrow import dataset, parquet

from heron_connectors.spark.frames import FrameSpout
from heron_core.errors import HeronError, TopologyError, UsageError
from heron_core.records import replace
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.driver.progress import Progress
from heron_tester.sources import topology_of
from heronpy_compat.testing import TopologyTester
from spark_support import Watched, run
from table_topologies import (
    DAYS,
    DEADLY_BATCH,
    HERE,
    ROWS,
    SQUARES,
    Telling,
    csv_topology,
    spec_of,
    tables,
    write_days,
)
from test_spark_recovery import until

DRIVER_SECS = 300.0


def run_until_killed(folder: str) -> None:
    """In a process of its own, with one core."""
    from heron_spark.driver.run import run_on_spark
    from heron_spark.options import SparkOptions

    checkpoint = os.path.join(folder, "checkpoint")
    options = SparkOptions(master="local[1]", checkpoint=checkpoint)
    run_on_spark(tables(Path(folder), os.getpid()), options, Watched())


def test_csv_files_have_the_same_values_on_both_engines(spark: Any, tmp_path: Path) -> None:
    """Spark's own inference makes 7 of 007, and NaN of a text."""
    (tmp_path / "csv").mkdir()
    text = "number,zip,price,full,empty\n1,007,1.5,true,\n,010,NaN,False,x\n3,,2,true,y\n"
    (tmp_path / "csv" / "some.csv").write_text(text)
    load = FrameSpout.load(str(tmp_path / "csv"), format="csv")
    made = csv_topology(load)
    with TopologyTester(made) as tester:
        tester.run_spouts()
        native = [each.values for each in tester.emitted("table")]
    assert native[0] == [1, "007", 1.5, True, ""]
    watched = Watched()
    spec = replace(topology_of(made, None, None, {}), search_paths=(HERE,))
    assert run(spark, spec, tmp_path / "checkpoint", watched) == 0
    told = [each["told"][1:] for each in watched.printed if "told" in each]
    assert sorted(told, key=repr) == sorted(native, key=repr)


BAD_ROWS = b"""id,name,price,note
1,a,1.5,x
2,short
3,c,3.5,x,long
4,"two
lines",4.5,"y ""q"" z"
5,bytes\xff,5.5,x
6,,6.5,
7,"open,7.5,x
8,z,8.5,x
"""
OPEN_AT_LAST = b'id,name,price,note\n9,n,9.5,x\n10,o,10.5,"open\n11,p,11.5,x\n'


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_row_that_cannot_be_read_is_left_out_and_told_on_both_engines(
    spark: Any, tmp_path: Path, kind: str
) -> None:
    """Spark's own reader makes null of an unreadable value."""
    (tmp_path / kind).mkdir()
    data = BAD_ROWS if kind == "csv" else b'{"id": 1, "name": "a"}\n{"id": 2, "na\n{"id": 3}\n'
    (tmp_path / kind / f"some.{kind}").write_bytes(data)
    if kind == "csv":
        (tmp_path / kind / "then.csv").write_bytes(OPEN_AT_LAST)
    columns = ["id", "name", "price", "note"] if kind == "csv" else ["id", "name"]
    made = csv_topology(FrameSpout.load(str(tmp_path / kind), format=kind, columns=columns))
    with TopologyTester(made) as tester:
        for _ in range(2 * len(data.splitlines())):
            tester.run_spouts(1)
        native = [each.values for each in tester.emitted("table")]
        bad = len(tester.errors("table"))
    assert [row[0] for row in native] == ([1, 4, 6, 9] if kind == "csv" else [1, 3])
    watched = Watched()
    spec = replace(topology_of(made, None, None, {}), search_paths=(HERE,))
    assert run(spark, spec, tmp_path / "checkpoint", watched) == 0
    told = [each["told"][1:] for each in watched.printed if "told" in each]
    assert sorted(told, key=repr) == sorted(native, key=repr)
    assert sum(each["errors"] for done in watched.batches for each in done.results) == bad
    assert bad == (5 if kind == "csv" else 1)


@pytest.mark.parametrize(
    "options",
    [
        {"lineSep": "|"},
        {"lineSep": "|", "mode": "DROPMALFORMED"},
        {"columnNameOfCorruptRecord": "x"},
    ],
)
def test_json_with_lines_of_the_users_own_is_looked_through_before_the_first_row(
    spark: Any, tmp_path: Path, options: dict[str, str]
) -> None:
    """An option for the lines left the look out, without a word."""
    data = b'{"id": 1}|{"id": "x"}' if "lineSep" in options else b'{"id": 1}\n{"id": "x"}'
    for name, text, why in (
        ("half", rb'{"id": "\ud83d"}', "half a character"),
        ("mixed", data, "id has values of several types"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "some.json").write_bytes(text)
        source = FrameSpout.load(
            str(tmp_path / name), format="json", columns=["id"], options=options
        )
        spec = replace(topology_of(csv_topology(source), None, None, {}), search_paths=(HERE,))
        with pytest.raises(TopologyError, match=why):
            run(spark, spec, tmp_path / f"checkpoint {name}", Watched())


def killed(folder: Path) -> None:
    """Run the tables until the sink kills the driver."""
    program = (
        f"import sys; sys.path.insert(0, {HERE!r})\n"
        "import test_tables_spark\n"
        f"test_tables_spark.run_until_killed({str(folder)!r})\n"
    )
    # Leftovers of a killed driver lie here; a socket's path has to be short.
    scratch = tempfile.mkdtemp(prefix="heron-")
    finished = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        timeout=DRIVER_SECS,
        env={**os.environ, "PYTHONPATH": str(Path(HERE).parents[1]), "TMPDIR": scratch},
    )
    until(lambda: not _mentioning(scratch, str(folder)), "processes are left")
    shutil.rmtree(scratch)
    assert finished.returncode == -9, finished.stderr.decode()


def _mentioning(*paths: str) -> list[psutil.Process]:
    """Hosts and JVMs of a run: their command lines have its folders."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            words = " ".join(each.cmdline())
            if any(path in words for path in paths):
                found.append(each)
    return found


def written(folder: Path) -> list[dict[str, Any]]:
    """The rows of all files of a sink."""
    rows: list[dict[str, Any]] = dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
    return rows


def test_each_row_is_in_a_file_once_though_the_driver_died_before_its_batch_was_done(
    spark: Any, tmp_path: Path
) -> None:
    """Killed with the files of a batch written and the batch not done; then one of the two spout
    tasks has to read its rows of the batch again, on two cores instead of one."""
    write_days(tmp_path / "in")
    killed(tmp_path)
    before = written(tmp_path / "out")
    done = DEADLY_BATCH * ROWS
    assert done < len(before) < done + ROWS, "one of two sinks had committed the batch that died"
    checkpoint = CheckpointDir(str(tmp_path / "checkpoint"))
    assert (checkpoint.batches_done(), checkpoint.committed()) == (DEADLY_BATCH, DEADLY_BATCH - 1)
    first, second = 1, 2
    assert checkpoint.has(first, DEADLY_BATCH)
    os.unlink(checkpoint.task_file(second, DEADLY_BATCH))
    made = {each["day"] for each in written(tmp_path / "squares")}

    watched = Watched()
    assert run(spark, tables(tmp_path), tmp_path / "checkpoint", watched) == 0

    assert watched.batches[0].batch == DEADLY_BATCH
    found = Counter((each["number"], str(each["day"])) for each in written(tmp_path / "out"))
    assert found == Counter(
        (number, day)
        for position, day in enumerate(DAYS)
        for number in range(position * ROWS, (position + 1) * ROWS)
    )
    squares = written(tmp_path / "squares")
    assert sorted(each["number"] for each in squares) == [n * n for n in range(SQUARES)]
    assert {each["day"] for each in squares} == made, "the frame was asked twice"
    shares = Counter(
        {
            result["label"]: result["emitted"]
            for each in watched.batches[1:]
            for result in each.results
            if result["component"] == "days" and result["emitted"]
        }
    )
    assert set(shares) == {"days[0]", "days[1]"}


def add_file(folder: Path, first: int) -> None:
    """Ten numbers as a file that appears whole."""
    folder.mkdir(exist_ok=True)
    beside = folder / f".{first}.parquet"
    parquet.write_table(arrow.table({"number": range(first, first + 10)}), beside)
    beside.rename(folder / f"{first}.parquet")


def test_files_that_appear_and_a_stream_that_a_function_makes(spark: Any, tmp_path: Path) -> None:
    """The run is stopped after the arrival of files younger than its first batch."""
    for name in ("files", "made"):
        add_file(tmp_path / name, 0)
    files = FrameSpout.load(tmp_path / "files", follow=True).spec(name="files")
    made = FrameSpout.made_by(stream_of(tmp_path / "made"), ["number"]).spec(name="made")
    sink = Telling.spec(name="told", inputs=[files, made])
    spec = spec_of("following", files, made, sink)
    watched = Watched()

    def report(progress: Progress) -> None:
        watched(progress)
        if progress.batch == 0:
            for name in ("files", "made"):
                add_file(tmp_path / name, 10)
        if len(watched.printed) >= 40 and watched.stop_after is None:
            watched.stop_after = len(watched.batches) + 1

    assert run(spark, spec, tmp_path / "checkpoint", report) == 0
    assert Counter(each["told"][0] for each in watched.printed) == {"files": 20, "made": 20}
    assert Counter(each["told"][1] for each in watched.printed) == dict.fromkeys(range(20), 2)
    ending = FrameSpout.load(tmp_path / "files").spec(name="files")
    changed = spec_of("following", ending, made, sink)
    with pytest.raises(UsageError, match="was created with other tables"):
        run(spark, changed, tmp_path / "checkpoint", report)


def stream_of(folder: Path) -> Callable[[Any], Any]:
    """A function as users write it."""
    return lambda spark: spark.readStream.schema("number bigint").parquet(str(folder))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (FrameSpout.made_by(lambda spark: 7, ["number"]), "returns a int, not a DataFrame"),
        (FrameSpout.made_by(lambda spark: 1 // 0, ["number"]), "ZeroDivisionError: "),
        (FrameSpout.made_by(lambda spark: spark.range(3), ["number"]), "number"),
        (FrameSpout.load("/nowhere/at/all", columns=["number"]), "/nowhere/at/all"),
    ],
)
def test_a_frame_that_cannot_be_had_is_named(
    spark: Any, tmp_path: Path, source: Any, complaint: str
) -> None:
    bad = source.spec(name="bad")
    spec = spec_of("bad", bad, Telling.spec(name="told", inputs=[bad]))
    with pytest.raises(HeronError) as caught:
        run(spark, spec, tmp_path / "checkpoint", Watched())
    assert str(caught.value).startswith("spout 'bad': ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
