"""What instances share: the executor goes through an instance's beginning before it forks any."""

import subprocess
import sys

REHEARSED = """
import logging, os, sys, threading
import heron_engine.scheduler.container.executor
from heron_engine.scheduler.container.rehearsal import API, rehearse

def left():
    return (list(sys.path), dict(os.environ), list(sys.meta_path), logging.getLogger().handlers,
            threading.enumerate(), sorted(os.listdir("/proc/self/fd")))

assert not set(API) <= set(sys.modules)
before = left()
rehearse()
assert left() == before
assert set(API) <= set(sys.modules)
imported = set(sys.modules)
rehearse()
print(*sorted(set(sys.modules) - imported))
"""


def test_it_imports_what_instances_need_and_leaves_nothing_else() -> None:
    """In a fresh process, as the executor is one; what was imported once is not again."""
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
