"""The image of the Containerfile, on a base of Debian's packages: buildah, without a registry.

`python -m tests.extras.image` names the missing requirement in one line, and ends with code 69.
The base is made once, in a folder outside of the repository.
"""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

from tests.extras.needs import EXIT_NOT_HERE

PROGRAMS = ("buildah", "mmdebstrap")
"""Each of Debian's package of the same name."""
SUITE, PACKAGES = "bookworm", "python3,python3-pip,ca-certificates"
CACHE = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "heronpy-tests"
BASE = CACHE / f"debian-{SUITE}-python.tar"
BASE_SECS, BUILD_SECS = 900.0, 600.0
ISOLATION = ("--isolation", "chroot")
"""Commands of the build then need no control groups: containers may lack these."""
REPOSITORY = Path(__file__).parent.parent.parent


def missing() -> str | None:
    """The missing requirement, in one line; None on a complete machine."""
    if os.geteuid() != 0:
        return "only root makes the files of a base of Debian's packages"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{absent[0]} is not here (apt-get install {absent[0]})" if absent else None


def base_problem() -> str | None:
    """Make the base if necessary; the last line of mmdebstrap where Debian's archive fails."""
    if BASE.exists():
        return None
    BASE.parent.mkdir(parents=True, exist_ok=True)
    partial = BASE.with_suffix(".part.tar")
    made = subprocess.run(
        ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(partial)],
        capture_output=True, text=True, timeout=BASE_SECS, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        partial.unlink(missing_ok=True)
        lines = made.stderr.strip().splitlines() or [f"exit code {made.returncode}"]
        return f"mmdebstrap makes no base of Debian's packages: {lines[-1]}"
    partial.rename(BASE)
    return None


def buildah(*words: object) -> str:
    """Output of a command of buildah; AssertionError with its complaint after a failure."""
    done = subprocess.run(
        ["buildah", *map(str, words)],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=BUILD_SECS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


if __name__ == "__main__" and (why := missing() or base_problem()) is not None:
    print(why)
    sys.exit(EXIT_NOT_HERE)
