"""word_counts.py of docs/SPARK.md in a clean environment, killed with -9 and started again."""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from heron_io.java import find_java, java_home_for_spark
from tests.extras.clean_environment import CleanEnvironment
from tests.process.process_support import until

SECS = 600.0
"""Limit of work that takes half a minute on an idle machine."""
COUNTS = """
import json, deltalake
rows = []
if deltalake.DeltaTable.is_deltatable("counts"):
    rows = deltalake.DeltaTable("counts").to_pyarrow_table().to_pylist()
print(json.dumps([[each["word"], each["count"]] for each in rows]))
"""


class KilledProgram:
    """The program in a folder of its own, in a session at `master`.

    The environment is not activated: its Python is called by path.
    """

    def __init__(
        self, environment: CleanEnvironment, name: str, master: str, scratch: Path
    ) -> None:
        """`scratch`: where sockets go, whose paths have to be short."""
        self.environment = environment
        self.folder = environment.work / name
        (self.folder / "lines").mkdir(parents=True)
        shutil.copy(environment.work / "word_counts.py", self.folder)
        self._variables = {
            **environment.variables,
            "PATH": environment.path_without_it,
            "JAVA_HOME": str(Path(find_java()).resolve().parents[1]),
            **java_home_for_spark(str(self.folder)),
            "PYSPARK_SUBMIT_ARGS": f"--master {master} --conf spark.ui.enabled=false pyspark-shell",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(scratch),
        }
        self._files = 0

    def add_file(self) -> None:
        """A file of some words that appears whole."""
        self._files += 1
        beside = self.folder / "lines" / ".unfinished"
        beside.write_text("storm heron\n" * self._files)
        beside.rename(self.folder / "lines" / f"{self._files}.txt")

    @property
    def expected(self) -> Counter[tuple[str, int]]:
        """A row for each word of the files: how often it has come until then."""
        total = self._files * (self._files + 1) // 2
        return Counter((word, n) for word in ("storm", "heron") for n in range(1, total + 1))

    def batches(self) -> int:
        """How many Spark has noted as done."""
        return len(list((self.folder / "checkpoint" / "commits").glob("[0-9]*")))

    @contextmanager
    def running(self) -> Iterator[None]:
        """The program is killed at the end of the block; its children end by themselves."""
        with (self.folder / "errors.txt").open("ab") as errors:
            self._program = program = subprocess.Popen(
                [self.environment.python, "word_counts.py"],
                cwd=self.folder,
                env=self._variables,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
        children: list[psutil.Process] = []
        try:
            yield
            children = psutil.Process(program.pid).children(recursive=True)
        finally:
            program.kill()
            program.wait()
        _, alive = psutil.wait_procs(children, SECS)
        assert not alive

    def until_batches(self, number: int) -> None:
        """Wait for so many, of all lives of the program together."""

        def done() -> bool:
            said = (self.folder / "errors.txt").read_text("utf-8", "replace")
            assert self._program.poll() is None, said[-3000:]
            return self.batches() >= number

        until(done, f"{number} batches", SECS)

    def written(self) -> Counter[tuple[str, int]]:
        """The rows of the Delta table."""
        found = self.environment.run("python", "-c", COUNTS, folder=self.folder.name)
        return Counter(map(tuple, json.loads(found.succeeded().out)))
