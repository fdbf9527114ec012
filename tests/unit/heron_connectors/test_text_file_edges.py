"""Files as others leave them: marks, line ends, names, members of what is compressed."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_connectors.files.spout import FileSpout
from heron_core.errors import ComponentError
from heronpy_compat import Bolt, Topology
from heronpy_compat.testing import TopologyTester


class Kept(Bolt):
    outputs: list[Any] = []

    def process(self, tup: Any) -> None:
        self.ack(tup)


def read(path: Path, encoding: str = "utf-8") -> tuple[list[str], list[str]]:
    """The lines that are emitted, and what the spout says."""
    given = {"library.file.path": str(path), "library.file.encoding": encoding}

    class Reading(Topology):
        lines = FileSpout.spec(config=given)
        kept = Kept.spec(inputs=[lines])

    with TopologyTester(Reading) as tester:
        tester.run_spouts(8)
        errors = [each.text for each in tester.errors("lines")]
        return [values[0] for values in tester.values("lines")], errors


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n\r\nc", ["a", "b", "", "c"]),
        (b"a\nb", ["a", "b"]),
        (b"", []),
    ],
)
def test_marks_and_line_ends_are_no_part_of_a_line(
    data: bytes, lines: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(data)
    assert read(path) == (lines, [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_of_utf_16_is_refused_whole(encoding: str, tmp_path: Path) -> None:
    """Its second line would be a text of other characters."""
    path = tmp_path / "lines.txt"
    path.write_bytes("a\nb\n".encode("utf-16"))
    if encoding == "utf-16":
        with pytest.raises(ComponentError, match="line ends are not single bytes: convert"):
            read(path, encoding)
        return
    lines, errors = read(path)
    assert lines == []
    assert "is UTF-16 (by its first bytes)" in errors[0]


@pytest.mark.parametrize(
    ("ending", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_all_members_are_read_and_a_file_that_is_cut_off_is_named(
    ending: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"lines{ending}"
    path.write_bytes(compress(b"a\nb\n") + compress(b"c"))
    assert read(path) == (["a", "b", "c"], [])
    path.write_bytes(compress(os.urandom(300).hex().encode())[:-40])
    lines, errors = read(path)
    assert lines == []
    assert f"lines{ending} cannot be read" in errors[0]


def test_a_folder_with_strange_names_and_a_link_to_itself_is_read_once(tmp_path: Path) -> None:
    for at, name in enumerate(("a b.txt", "b%20.txt", "c\nd.txt", "e[1].txt")):
        (tmp_path / name).write_text(f"{at}\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert read(tmp_path) == (["0", "1", "2", "3"], [])
    assert read(tmp_path / "e[1].txt") == (["3"], [])


def test_a_pattern_without_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="cannot be read: No such file"):
        read(tmp_path / "*.txt")
