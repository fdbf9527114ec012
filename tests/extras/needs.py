"""What the compiled wheel needs of a machine: Linux, a C compiler, Python's headers.

`python -m tests.extras.needs` says in one line what is missing, and ends with EXIT_NOT_HERE then.
"""

import sys

from native_build import what_is_missing

EXIT_NOT_HERE = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run goes on without these tests."""


def main() -> int:
    """0 if all is there; else one line and EXIT_NOT_HERE."""
    missing = (
        what_is_missing(()) if sys.platform == "linux" else "auditwheel repairs Linux's wheels"
    )
    if missing is None:
        return 0
    print(missing, file=sys.stderr)
    return EXIT_NOT_HERE


if __name__ == "__main__":
    sys.exit(main())
