"""Compiles the hot path if this machine can: `python native_attempt.py [again|off]`.

`make run` and `make test` call it before they begin. What it did, or why the Python hot path runs,
is one line; then all goes on, also after a failed build. What came of the same sources before is
not tried again: a compiled hot path is not built twice, and a failed build is told without a second
one. `again` (`make native`) tries it in any case, and its exit code is 1 if the Python hot path
runs; `off` (`make native-off`) removes the extensions, until `again`.
"""

import os
import re
import signal
import subprocess
import sys
import time
import zlib

from heron_core.native import COMPILED, HOT_PATH, OFF, SWITCH, TURNED_OFF
from native_build import EXTENSIONS, HEADERS, PACKAGE, file_name, forget, what_is_missing

ROOT = PACKAGE.parent
REQUIREMENTS = ROOT / "requirements-native.txt"
OUTCOME = PACKAGE / "hot_outcome_compiled.txt"
"""The number of the sources, and a line: COMPILED, or why Python's runs."""
LOG = PACKAGE / "hot_build_compiled.log"
AGAIN, REMOVED = "again", "off"
SECS_MAX = 300.0
"""For pip and for the compilers, which take five and fifteen, and minutes on a busy machine."""
IS_OFF = "`make native-off` has removed the compiled one, `make native` builds it again"


ERROR = re.compile(
    r"(?:^|\s)error: (?!command )"  # of compilers, linkers and pip, not what setuptools ran
    r"|^\S+\.(?:py|pxd):\d+:\d+: ",  # of Cython, whose warnings begin with another word
    re.IGNORECASE | re.MULTILINE,
)
WARNING = re.compile(r"\bwarning\b", re.IGNORECASE)
ENDED_BY_A_SIGNAL = re.compile(
    r"^KeyboardInterrupt|signal terminated program|exit code -\d|exit status -\d", re.MULTILINE
)


class Failure(Exception):
    """Why there is no compiled hot path, as a clause."""


class Interruption(Failure):
    """Somebody, or the system, has ended a build: this says nothing of its sources."""


def number_of_sources() -> str:
    """A checksum of all that a build reads, and the Python that it is for."""
    files = [ROOT / "native_build.py", REQUIREMENTS, *HEADERS]
    files += [PACKAGE / f"{name}.{end}" for name in EXTENSIONS for end in ("py", "pxd")]
    return str(zlib.crc32(b"".join([each.read_bytes() for each in files] + [sys.version.encode()])))


def attempt(again: bool) -> str | None:
    """Build what is to be built; a line for the user, None if the compiled one is there already."""
    number, outcome = number_of_sources(), "" if again else _recorded()
    known, _, why = outcome.partition(" ")
    if why == IS_OFF or (known == number and why and why != COMPILED):
        return _python(why)
    if known == number and why == COMPILED == HOT_PATH:
        return None
    began = time.monotonic()
    if again:
        forget(PACKAGE)
    try:
        _build()
    except Failure as failure:
        return _python(str(failure))
    _record(f"{number} {COMPILED}")
    return f"hot path: {COMPILED} (built in {time.monotonic() - began:.0f} s)"


def _build() -> None:
    """Compile it, and see that it can be imported; Failure if not."""
    missing = what_is_missing(())
    if missing is not None:  # told each time, as it may be installed until the next
        raise Failure(missing)
    if what_is_missing() is not None:
        _run("cannot install what compiles it", "-m", "pip", "install", "--quiet", "--retries", "1",
             "--disable-pip-version-check", "--requirement", str(REQUIREMENTS))  # fmt: skip
    try:
        _run("the build failed", str(ROOT / "native_build.py"))
        found = running()
        if found != COMPILED:
            raise Failure(found)
    except Interruption:
        raise
    except Failure as failure:
        remove()
        _record(f"{number_of_sources()} {failure}")
        raise


def _run(what: str, *words: str) -> None:
    with LOG.open("wb") as log:
        try:
            code = subprocess.run(
                [sys.executable, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, timeout=SECS_MAX, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failure(f"{what}: more than {SECS_MAX:.0f} s, see {LOG}") from None
    text = LOG.read_text("utf-8", "replace")
    if code < 0 or (code > 0 and ENDED_BY_A_SIGNAL.search(text)):
        raise Interruption("the build was interrupted, the next one begins again")
    if code > 0:
        raise Failure(f"{what}: {reason(text)}, see {LOG}")


def reason(log: str) -> str:
    """The line that says what failed: the first error, or the last line that is not a warning."""
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    errors = [line for line in lines if ERROR.search(line)]
    others = [line for line in lines if not WARNING.search(line)]
    return next(iter((*errors, *reversed(others))), "without a word")


def running() -> str:
    """HOT_PATH of a process that begins now."""
    ask = "from heron_core.native import HOT_PATH; print(HOT_PATH)"
    told = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or f"the extension ends its process with {told.returncode}"


def _python(why: str) -> str:
    return f"hot path: Python ({why.removeprefix('Python: ')})"


def _recorded() -> str:
    return OUTCOME.read_text("utf-8") if OUTCOME.exists() else ""


def _record(outcome: str) -> None:
    unfinished = OUTCOME.with_suffix(".new")
    unfinished.write_text(outcome, "utf-8")
    unfinished.replace(OUTCOME)


def remove() -> None:
    """No extension is left beside the sources."""
    for name in EXTENSIONS:
        (PACKAGE / file_name(name)).unlink(missing_ok=True)


def main(*words: str) -> int:
    """What the command line asks for; returns the exit code."""
    if words == (REMOVED,):
        remove()
        _record(f"{number_of_sources()} {IS_OFF}")
        return 0
    if os.environ.get(SWITCH) == OFF:
        line: str | None = _python(TURNED_OFF)
    else:
        line = attempt(words == (AGAIN,))
    if line is not None:
        print(line)
    is_compiled = line is None or line.startswith(f"hot path: {COMPILED}")
    return int(words == (AGAIN,) and not is_compiled)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:  # nothing is recorded: the next attempt builds
        sys.exit(128 + signal.SIGINT)
