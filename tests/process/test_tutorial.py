"""docs/TUTORIAL.md, command by command: the output is on the page, but for numbers and names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests.process.process_support import DEADLINE_SECS, REPOSITORY, Place, Running

PAGE = (REPOSITORY / "docs" / "TUTORIAL.md").read_text("utf-8")
COLUMNS = 80
INTERRUPTED = 130
HOME_OF_THE_PAGE = "/home/ada/.heronpy"
INSTALLS = ("python -m venv", ". ~/heronpy-venv", "python -m pip install", "cd ~")
"""Beginnings of commands that this checkout has done."""


def commands() -> dict[str, str]:
    """Command -> output, both as on the page."""
    shells = re.findall(r"^    \$ (.*)\n((?:    (?!\$).*\n|\n(?=    ))*)", PAGE, re.MULTILINE)
    return {command: re.sub("^    ", "", output, flags=re.MULTILINE) for command, output in shells}


def comparable(text: str) -> str:
    """Without white space (lines are wrapped), numbers with their units, and names of instances."""
    text = re.sub(r"\b(clicks|seconds|totals|written)\[\d+\]", "INSTANCE", text)
    return re.sub(r"\d[\d.,:T+-]*(\s?(µs|ms|s|k)\b)?", "#", re.sub(r"[ \t]+", " ", text)).replace(
        " ", ""
    )


def lines_missing(page: str, output: str) -> list[str]:
    """Lines of the page that the output has not."""
    whole = comparable(output).replace("\n", "")
    return [line for line in page.splitlines() if comparable(line) not in whole]


class Shell:
    """A terminal of the reader, with the commands of the page."""

    def __init__(self, place: Place) -> None:
        self.place, self.shown = place, commands()
        scripts = os.path.dirname(sys.executable)
        self.environment = place.environment | {
            "PATH": f"{scripts}:{os.environ['PATH']}",
            "PYTEST_DEBUG_TEMPROOT": str(place.path),
        }

    def types(self, command: str) -> str:
        """Output of a command with exit code 0, which has the lines of the page."""
        ended = subprocess.run(
            ["sh", "-c", command],
            cwd=self.place.path,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * DEADLINE_SECS,
        )
        output = (ended.stdout + ended.stderr).replace(str(self.place.home), HOME_OF_THE_PAGE)
        assert ended.returncode == 0, output
        assert lines_missing(self.shown[command], output) == [], output
        del self.shown[command]
        return output

    def starts(self, command: str, *more: object) -> Running:
        """A command in another terminal."""
        del self.shown[command]
        return self.place.start(*command.split()[1:], *more)


def save_the_files(project: Path) -> None:
    """Blocks of Python with a path in the first line."""
    files = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
    assert len(files) == PAGE.count("```python") == 4
    for path, text in files:
        (project / path).write_text(text)


def test_the_page_fits_a_terminal_of_80_columns() -> None:
    lines = [line for shell in commands().items() for text in shell for line in text.splitlines()]
    assert [line for line in lines if len(line.expandtabs()) > COLUMNS] == []


def test_the_tutorial_is_as_the_page_says(place: Place) -> None:
    """In a new project, with its own tests, a run that is interrupted, and one with deaths."""
    shell = Shell(place)
    for command in [each for each in shell.shown if each.startswith(INSTALLS)]:
        del shell.shown[command]
    made = shell.types("heronpy quickstart demo")
    project = place.path / "demo"
    assert sorted(re.findall(r"create +demo/(\S+)", made)) == sorted(
        str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()
    )
    assert (project / "README.md").read_text().startswith("# demo\n")
    shell.types("cd demo")
    place.path = project
    tests = "python -m pytest -q"
    first, second = re.findall(rf"\$ {tests}\n    (.*)", PAGE)
    shell.shown[tests] = first
    assert "2 passed" in shell.types(tests)
    words = shell.starts("heronpy run")
    words.until(lambda: " was seen " in place.log("wordcount", "count_bolt-2"), "it counts")
    assert words.end().code == INTERRUPTED
    save_the_files(project)
    shell.shown[tests] = second
    assert "3 passed" in shell.types(tests)
    run_is_exact(shell)
    pages_show_it(shell)
    assert shell.shown == {}
    place.nothing_is_left()


def run_is_exact(shell: Shell) -> None:
    """Each line of the sink once, although instances were killed."""
    run = shell.starts("heronpy run -n clicks")
    is_up = (shell.place.logs("clicks") / "written-6.log").exists
    run.until(is_up, "all processes of the run have started")
    deaths = shell.types("heronpy chaos clicks --kind instance --action kill -t 3 --every 1")
    assert "is back" in deaths
    ended = run.wait(2 * DEADLINE_SECS).succeeded()
    (end,) = re.findall(r"^    (clicks ended after .*)$", PAGE, re.MULTILINE)
    assert lines_missing(end, ended.out + ended.err) == []
    lines = shell.shown["cat out/part-* | wc -l"]
    assert shell.types("cat out/part-* | wc -l") == lines
    totals = shell.shown['grep -h "750 so far" out/part-* | sort']
    assert shell.types('grep -h "750 so far" out/part-* | sort') == totals
    shell.types("heronpy stats clicks")


def pages_show_it(shell: Shell) -> None:
    """A topology in the background is on the pages of `heronpy ui`."""
    shell.types("heronpy submit -n wordcount")
    page = shell.shown["heronpy ui"]
    service = shell.starts("heronpy ui", "--port", 0)
    served = service.until(lambda: re.search(r"serving at (\S+)", service.out), "it serves")
    assert lines_missing(page, service.out) == []
    service.until(
        lambda: "wordcount" in httpx.get(f"{served[1]}/topologies", timeout=DEADLINE_SECS).text,
        "the service knows the topology",
    )
    service.signal()
    assert service.wait().code == INTERRUPTED
    shell.types("heronpy kill wordcount")
