"""`WordCount.write()` in a notebook or at Python's prompt: it runs as `heronpy run FILE` would.

Instances are processes of their own and import a file; a prompt has none. So one is written that
has the classes by value (cloudpickle, as functions of PySpark travel) and submits the topology.
"""

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from heron_api.class_loading import load_class
from heron_api.component.local_classes import MAIN, name_by_value
from heron_api.user_errors import format_error
from heron_core.errors import HeronError, TopologyError
from heron_core.records import replace
from heron_core.topology import TopologySpec

TEXT = '''\
"""Written by heronpy, of what a notebook or a prompt has defined."""

import base64
import pickle

from heron_api.submissions import record_submission

_classes, _topology = pickle.loads(base64.b64decode({values!r}))
globals().update(_classes)
record_submission(_topology)
'''


def is_interactive() -> bool:
    """Whether this is a prompt of Python or IPython, or a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return hasattr(sys, "ps1") or shell() is not None


def run(topology: TopologySpec) -> None:
    """Run to the end with output on stdout; an interrupt stops the run like Ctrl-C.

    HeronError naming a non-zero exit code; TopologyError naming a topology whose classes cannot be
    sent to other processes.
    """
    with tempfile.TemporaryDirectory(prefix="heronpy-prompt-") as folder:
        file = os.path.join(folder, "prompt.py")
        Path(file).write_text(file_text(topology), "utf-8")
        words = [sys.executable, "-P", "-m", "heron_cli", "run", "-n", topology.name, file]
        # A notebook displays only output written to its own sys.stdout.
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
        )
        code = _shown(process)
    if code:
        raise HeronError(f"topology {topology.name!r} ended with exit code {code}: see above")


def _shown(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    with process, process.stdout:
        while True:
            try:
                for line in process.stdout:
                    print(line, end="", flush=True)
                return process.wait()
            except (
                KeyboardInterrupt
            ):  # the child receives the interrupt as well, and reports what delays the end
                continue


def file_text(topology: TopologySpec) -> str:
    """The submitting file; TopologyError naming a topology that cannot be sent."""
    import cloudpickle  # used by prompts only

    names = [(component, name_by_value(component.class_path)) for component in topology.components]
    classes = {name: load_class(each.class_path) for each, name in names if name is not None}
    components = tuple(
        spec if name is None else replace(spec, class_path=MAIN + name) for spec, name in names
    )
    contents = classes, replace(topology, components=components)
    try:
        values = base64.b64encode(cloudpickle.dumps(contents)).decode("ascii")
    except Exception as error:
        raise TopologyError(
            f"topology {topology.name!r}: its classes cannot be sent to other processes: "
            f"{format_error(error)}; define the object that cannot be pickled in a module"
        ) from None
    return TEXT.format(values=values)
