"""A CSV file that is damaged costs the rows that are damaged, each by its name."""

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from heron_connectors.tables import csv_properties
from heron_connectors.tables.table_files import FileTable
from heron_connectors.tables.text_tables import BLOCK_BYTES, BadRow, CsvOptions, Row
from heron_core.errors import ComponentError

OPEN = "a quote is not closed, so it takes all following lines"


def rows(path: Path, data: bytes, options: CsvOptions | None = None) -> list[Row]:
    path.write_bytes(data)
    table = FileTable(str(path), csv=options or CsvOptions())
    (piece,) = table.pieces([str(path)])
    return [each for some in table.rows(piece, table.columns(str(path)), 0) for each in some]


def why(found: list[Row]) -> list[str]:
    return [each.why for each in found if isinstance(each, BadRow)]


def good(found: list[Row]) -> list[Row]:
    return [each for each in found if not isinstance(each, BadRow)]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"3,y\n4,z\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_a_quote_that_is_open_at_the_end_of_a_file_is_a_bad_row(
    encoding: str, end: bytes, tmp_path: Path
) -> None:
    """The types are those of the others."""
    text = 'a,b\n1,7\n2,"x""' + end.decode()
    found = rows(tmp_path / "t.csv", text.encode(encoding), CsvOptions(encoding=encoding))
    assert good(found) == [[1, 7]]
    assert [each.startswith(OPEN) for each in why(found)] == [True]


@pytest.mark.parametrize(
    "text",
    ['a,b\n1,""\n', 'a,b\n1,"x"', 'a,b\n1,"x,""y"""\r\n\r\n', 'a,b\n1,x"\n', '"a",b\n1,x"y"\n'],
)
def test_quotes_that_are_closed_or_within_a_value_are_none(text: str, tmp_path: Path) -> None:
    found = rows(tmp_path / "t.csv", text.encode())
    assert why(found) == []
    assert len(found) == 1


def test_a_byte_order_mark_before_a_quote_is_not_of_the_value(tmp_path: Path) -> None:
    found = rows(tmp_path / "t.csv", b'\xef\xbb\xbf"a,a",b\n1,x\n')
    assert found == [[1, "x"]]


def test_an_open_quote_before_a_megabyte_is_named(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match=r"a row is longer .* or a quote is not closed"):
        rows(tmp_path / "t.csv", b'a,b\n1,"' + b"2,y\n" * BLOCK_BYTES)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_row_of_another_length_that_is_no_utf_8_costs_itself(
    encoding: str, tmp_path: Path
) -> None:
    data = b"\xe9,b\n1,x\n2,\xff,3\n4,\xe9\n5,z\n".replace(b"\xe9,b", "é,b".encode(encoding))
    found = rows(tmp_path / "t.csv", data, CsvOptions(encoding=encoding))
    kept = [[1, "x"], [5, "z"]] if encoding == "utf-8" else [[1, "x"], [4, "é"], [5, "z"]]
    assert good(found) == kept
    assert "3 columns where 2 are expected: b'2,\\xff,3'" in why(found)
    assert len(why(found)) == (2 if encoding == "utf-8" else 1)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)],
)
def test_compressed_files_are_read_and_damaged_ones_named(
    ending: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Of several members, too; cut off, the file is named."""
    path, data = tmp_path / f"t.csv.{ending}", b"2,y\n" * 100
    assert len(rows(path, compress(b"a,b\n1,x\n") + compress(data))) == 101
    with pytest.raises(ComponentError, match=f"t.csv.{ending} cannot be read: "):
        rows(path, compress(b"a,b\n" + random.Random(1).randbytes(1000).hex().encode())[:-20])


def is_open_by_each_character(text: str) -> bool:
    """As Arrow's parser goes."""
    is_open, at_start, at = False, True, 0
    while at < len(text):
        if is_open and text[at] == '"':
            is_open = text[at + 1 : at + 2] == '"'
            at += is_open
            at_start = False
        elif not is_open:
            is_open = at_start and text[at] == '"'
            at_start = text[at] in ",\n"
        at += 1
    return is_open


@pytest.mark.parametrize("seed", range(20))
def test_what_is_found_from_quote_to_quote_is_what_each_character_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, path = random.Random(seed), tmp_path / "t.csv"
    for number in range(30):
        text = "".join(chance.choices('a",\n', k=chance.randrange(12)))
        monkeypatch.setattr(csv_properties, "READ_BYTES", chance.randrange(1, 4))
        path.write_text(text)
        properties = csv_properties._csv_properties(str(path), seed, number, None, ",", '"')
        assert (properties.open_quote is not None) == is_open_by_each_character(text), text
