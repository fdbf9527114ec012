"""`python -m tests.kubernetes.kwok.needs`: what the tests with 1,000 pods need of a machine."""

import sys

from tests.kubernetes import needs


def missing() -> str | None:
    """What is missing, in one line; None if all is there."""
    if not needs.KWOK.exists():
        return f"{needs.KWOK} is not there (python -m tests.kubernetes.needs --build)"
    return needs.missing()


if __name__ == "__main__" and (why := missing()) is not None:
    print(why)
    sys.exit(needs.EXIT_NOT_HERE)
