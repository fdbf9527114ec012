"""`heronpy quickstart`: the project runs at once, and its own test passes."""

import subprocess
import sys

from tests.process.process_support import Place


def test_a_new_project_runs_and_passes_its_test(place: Place) -> None:
    """As a newcomer does it, by the lines that the command prints."""
    made = place.heronpy("quickstart", "demo").succeeded()
    created = [line.split()[1] for line in made.out.splitlines() if "create " in line]
    for name in ("config.json", ".gitignore", "src/bolts/wordcount.py", "tests/test_wordcount.py"):
        assert f"demo/{name}" in created
    assert sorted(created) == sorted(
        f"demo/{each.relative_to(place.path / 'demo')}"
        for each in (place.path / "demo").rglob("*")
        if each.is_file()
    )
    assert made.out.endswith(
        "\tcd demo\n\theronpy run\n\nand test it with:\n\n\tpython -m pytest\n"
    )
    assert (place.path / "demo" / "README.md").read_text().startswith("# demo\n")
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=place.path / "demo",
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    run = place.start("run", "--config", "demo/config.json", "-N", place.name)
    run.until(lambda: " was seen " in place.log(place.name, "count_bolt-2"), "it counts")
    assert run.end().code == 130
    place.nothing_is_left()


def test_a_folder_that_exists_is_left_alone(place: Place) -> None:
    """As sparse says it."""
    (place.path / "demo").mkdir()
    finished = place.heronpy("quickstart", "demo")
    assert finished.code == 1
    assert 'error: folder "demo" already exists' in finished.errors[0]
    assert list((place.path / "demo").iterdir()) == []
