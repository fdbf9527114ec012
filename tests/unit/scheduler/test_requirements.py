"""Requirements files as an archive takes them."""

from pathlib import Path

from heron_engine.scheduler.packaging.requirements import for_pip, wants_packages


def test_what_heronpy_answers_for_is_left_out(tmp_path: Path) -> None:
    """Every sparse project requires streamparse; names count as pip compares them."""
    lines = [
        "# packages\n", "streamparse # always required\n", "Streamparse>=3\n", "pystorm==3.1.4\n",
        "heronpy_topologies[spark]\n", "streamparse-tools==1\n", "requests  # http\n", "\n",
        "pkg @ https://example.com/p.whl#sha256=1\n",
    ]  # fmt: skip
    assert for_pip(lines, str(tmp_path)) == [
        "streamparse-tools==1",
        "requests",
        "pkg @ https://example.com/p.whl#sha256=1",
    ]


def test_paths_are_those_of_the_file(tmp_path: Path) -> None:
    """pip reads a copy of the lines in another folder."""
    (tmp_path / "base.txt").write_text("")
    (tmp_path / "wheels").mkdir()
    lines = ["-r base.txt", "--find-links=wheels", "-f https://example.com/", "-r gone.txt"]
    assert for_pip(lines, str(tmp_path)) == [
        f"-r {tmp_path}/base.txt",
        f"--find-links={tmp_path}/wheels",
        "-f https://example.com/",
        "-r gone.txt",
    ]


def test_a_file_may_ask_for_nothing() -> None:
    """Only then pip is not called at all."""
    assert not wants_packages([])
    assert not wants_packages(["--no-index", "--find-links=x", "-c limits.txt"])
    assert wants_packages(["--no-index", "x==1"])
    assert wants_packages(["-r base.txt"])
