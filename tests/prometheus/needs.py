"""Whether this machine has Prometheus and promtool, of Debian's package or any other.

`python -m tests.prometheus.needs` says in one line what to install where there is none.
"""

import shutil
import sys

PROGRAMS = ("prometheus", "promtool")
EXIT_NO_PROMETHEUS = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run goes on without these tests."""


def missing() -> str:
    """What to install, in one line; empty if all is there."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"this needs {' and '.join(absent)}: apt-get install prometheus" if absent else ""


def main() -> int:
    """0, or a line and EXIT_NO_PROMETHEUS."""
    if found := missing():
        print(found, file=sys.stderr)
        return EXIT_NO_PROMETHEUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
