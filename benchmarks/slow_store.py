"""The command `heronpy` with a checkpoint store as slow as an object store of another region.

SLOW_MS=200 python -m benchmarks.slow_store run FILE …

Each request to the files of checkpoints takes SLOW_MS longer. All processes of a topology are
forked from this one, so the requests of all are slow.
"""

import os
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from heron_cli.__main__ import main
from heron_io.checkpoint_store.local_files import LocalAccess

SLOW_MS_VARIABLE = "SLOW_MS"
REQUESTS = ("write", "read", "upload", "download", "size", "names", "remove", "remove_folder")


def slow(request: Callable[..., Any], secs: float) -> Callable[..., Any]:
    """The request, after so many seconds."""

    @wraps(request)
    def later(*arguments: Any) -> Any:
        time.sleep(secs)
        return request(*arguments)

    return later


if __name__ == "__main__":
    for name in REQUESTS:
        request = getattr(LocalAccess, name)
        setattr(LocalAccess, name, slow(request, int(os.environ[SLOW_MS_VARIABLE]) / 1000))
    main()
