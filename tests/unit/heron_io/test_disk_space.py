"""A full disk is named to whoever cannot start a topology because of it."""

from pathlib import Path

from heron_io.disk_space import shortage


def test_a_user_with_a_full_disk_is_told_which_one(tmp_path: Path) -> None:
    folder = str(tmp_path / "not" / "made")
    assert shortage(folder, 0) == ""
    more_than_there_is = 2**80
    assert shortage(folder, more_than_there_is).startswith(f"the disk of {folder} is full (")
    assert shortage(folder, more_than_there_is).endswith("KiB free): free some space there")
