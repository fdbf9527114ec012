"""Sources go on where their checkpoint was: whatever is killed, every item comes exactly once."""

import gzip
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyarrow import parquet

from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.tables.source import TableSpout
from heron_frontends.components import FileSpout
from heronpy_compat import Bolt, Topology
from heronpy_compat.connectors.textfiles.textfilesgenerator import TextFileGenerator
from heronpy_compat.streamlet.impl.generatorspout import GeneratorSpout
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM
from heronpy_compat.testing import TopologyTester

ITEMS = 23
EXACT = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}


class Collect(Bolt, StatefulComponent):
    """All items that came, in its state."""

    outputs: list[Any] = []

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.items = list(self.state.get("items") or [])

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("items", list(self.items))

    def process(self, tup: Any) -> None:
        value = tup.values[0]
        self.items += [row[0] for row in value] if isinstance(value, list) else [int(value)]


def topology(source: Any) -> type:
    is_streamlet = source.python_class_path.endswith(GeneratorSpout.__name__)

    class Reading(Topology):
        config = EXACT
        items = source
        collect = Collect.spec(inputs=[items[OUTPUT_STREAM] if is_streamlet else items])

    return Reading


def text_file(folder: Path) -> Any:
    path = folder / "numbers.txt"
    path.write_text("".join(f"{number}\n" for number in range(ITEMS)))
    return FileSpout.spec(par=2, config={"library.file.path": str(path)})


def text_files(folder: Path, ending: str = "", **options: Any) -> Any:
    """Some are compressed, and a line of them is no text."""
    for first, last in ((0, 9), (9, 15), (15, ITEMS)):
        data = b"".join(b"%d\n" % number for number in range(first, last)) + b"\xe9\n"
        path = folder / f"{first:02}.log{ending}"
        path.write_bytes(gzip.compress(data) if ending else data)
    config = {f"library.file.{key}": each for key, each in options.items()}
    return FileSpout.spec(par=2, config={"library.file.path": f"{folder}/*.log*", **config})


def one_compressed(folder: Path) -> Any:
    data = b"".join(b"%d\n" % number for number in range(ITEMS))
    (folder / "numbers.xz").write_bytes(lzma.compress(data))
    return FileSpout.spec(par=2, config={"library.file.path": str(folder / "numbers.xz")})


def table(folder: Path, **options: Any) -> Any:
    for first, last in ((0, 9), (9, ITEMS)):
        rows = arrow.table({"number": range(first, last)})
        parquet.write_table(rows, folder / f"{first:02}.parquet", row_group_size=4)
    return TableSpout.of(folder, columns=["number"], **options).spec(par=2)


def generator(folder: Path) -> Any:
    for first in (0, 10, 20):
        numbers = range(first, min(first + 10, ITEMS))
        (folder / f"{first:02}.txt").write_text("".join(f"{number}\n" for number in numbers))
    source = TextFileGenerator(f"{folder}/*.txt")
    return GeneratorSpout.spec(par=2, config={GeneratorSpout.GENERATOR: source})


def csv(folder: Path) -> Any:
    """With rows that are left out, and a text over two lines."""
    for first, last in ((0, 9), (9, ITEMS)):
        rows = (f'x,""\n{number},"two\nlines"\n1,2,3\n' for number in range(first, last))
        (folder / f"{first:02}.csv").write_text("number,text\n" + "".join(rows))
    source = TableSpout.of(folder, columns=["number"], types={"number": "int"})
    return source.spec(par=2)


def json_lines(folder: Path) -> Any:
    for first, last in ((0, 9), (9, ITEMS)):
        rows = (f'{{"number": {number}}}\n[]\n' for number in range(first, last))
        with gzip.open(folder / f"{first:02}.jsonl.gz", "wt") as file:
            file.writelines(rows)
    return TableSpout.of(folder, columns=["number"]).spec(par=2)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "lines of a file": text_file,
    "lines of files": text_files,
    "lines of files that are compressed": partial(text_files, ending=".gz"),
    "lines of files that are followed": partial(text_files, follow=True),
    "lines of a file that is compressed": one_compressed,
    "rows of a table": table,
    "rows of CSV": csv,
    "rows of JSON that is compressed": json_lines,
    "rows in tuples": partial(table, rows_per_tuple=3),
    "files of a streamlet": generator,
    "files that may be followed": partial(table, follow=True),
}


@pytest.fixture(params=SOURCES)
def tester(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TopologyTester]:
    with TopologyTester(topology(SOURCES[request.param](tmp_path))) as made:
        yield made


@pytest.mark.parametrize("victim", ["items", "collect"])
def test_every_item_comes_once_whoever_is_killed(tester: TopologyTester, victim: str) -> None:
    for turn in range(4):
        tester.run_spouts(2)
        if turn % 2 == 0:
            assert tester.checkpoint()
            tester.run_spouts(1)
        tester.crash(victim)
    for _ in range(3 * ITEMS):
        tester.run_spouts(1)
    (collect,) = tester.component("collect")
    assert sorted(collect.items) == list(range(ITEMS))
    problems = tester.errors("items")
    assert all("is left out" in str(each) for each in problems)
