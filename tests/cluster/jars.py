"""The jars of real servers, resolved by Maven into a folder of the checkout, ignored by git.

`python tests/cluster/jars.py` resolves all of them; the fixtures do so for their own needs.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cluster-jars"
SERVERS = ("hadoop", "hbase", "kafka", "registry", "spark_kafka", "storm")
"""Folders here with a pom.xml each: their dependencies differ in versions."""
STORM_AND_KAFKA_SPOUT = HERE.parent / "jvm" / "pom.xml"
"""Of tests/jvm, which `make test-cluster` runs as well."""
RESOLVE_SECS_MAX = 300.0
"""Half a minute where Maven Central answers; a proxy that drops packets must not hold CI up."""
EXIT_NO_JARS = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run goes on without these tests."""
NEEDED = "this needs Maven (mvn) and Maven Central"


class NoJars(Exception):
    """Maven is not installed, or does not reach Maven Central; the text is one line."""


def jars_of(server: str) -> Path:
    """The folder with the jars of a server; NoJars if missing and unresolvable."""
    return resolved(HERE / server / "pom.xml")


def resolved(pom: Path) -> Path:
    """The folder with the jars of a pom.xml, named after the pom's own folder; NoJars as above.

    Benchmarks use it, too.
    """
    version = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{pom.parent.name}-{version}"
    if not folder.exists():
        with _alone():
            if not folder.exists():
                _resolve(pom, folder)
    return folder


@contextmanager
def _alone() -> Iterator[None]:
    """While another process resolves, wait: Maven's own cache is not made for two."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _resolve(pom: Path, folder: Path) -> None:
    """The folder appears whole or not at all; folders of earlier poms are deleted."""
    maven = shutil.which("mvn")
    if maven is None:
        raise NoJars(f"{NEEDED}: mvn is not installed")
    made = CACHE / f"{pom.parent.name}-unfinished"
    shutil.rmtree(made, ignore_errors=True)
    _run_maven(maven, pom, made)
    for archive in made.glob("*.tar.gz"):
        _take_jars_of(archive)
    for earlier in set(CACHE.glob(f"{pom.parent.name}-*")) - {made}:
        shutil.rmtree(earlier)
    made.rename(folder)


def _take_jars_of(archive: Path) -> None:
    """All jars of a server distributed as an archive, side by side."""
    with tarfile.open(archive) as opened:
        for each in opened:
            if each.name.endswith(".jar"):
                each.name = Path(each.name).name
                opened.extract(each, archive.parent, filter="data")
    archive.unlink()


def _run_maven(maven: str, pom: Path, folder: Path) -> None:
    command = [maven, "--batch-mode", "--quiet", "-Dstyle.color=never", "--file", str(pom)]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(
            [*command, "-DincludeScope=runtime"],
            capture_output=True,
            check=False,
            text=True,
            timeout=RESOLVE_SECS_MAX,
        )
    except subprocess.TimeoutExpired:
        raise NoJars(f"{NEEDED}: no answer within {RESOLVE_SECS_MAX:g} s") from None
    if done.returncode != 0:
        raise NoJars(f"{NEEDED}: {_reason(done.stdout + done.stderr)}")


def _reason(output: str) -> str:
    """The first line that Maven complains with."""
    _, found, rest = output.partition("[ERROR] ")
    return rest.splitlines()[0] if found else "mvn failed without a word"


def main() -> int:
    """Resolve all; where that cannot be, one line and EXIT_NO_JARS."""
    try:
        for server in SERVERS:
            jars_of(server)
        resolved(STORM_AND_KAFKA_SPOUT)
    except NoJars as error:
        print(error, file=sys.stderr)
        return EXIT_NO_JARS
    return 0


if __name__ == "__main__":
    sys.exit(main())
