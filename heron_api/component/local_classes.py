"""Classes that are defined inside functions, as in a notebook: no module has them by a name.

A class path of such a class leads to it in the process that has made it, as long as that runs.
Other processes get the class by value where it is sent: by Spark's engine
(heron_spark/compile/main_classes.py), and from a prompt or a notebook (loading/interactive_run.py).
"""

import re

LOCALS = "<locals>"
MAIN = "__main__."

_classes: dict[str, type] = {}
"""class path -> class"""


def class_path_of(kind: type) -> str:
    """MODULE.CLASS, as instances import it; of a class inside a function one that is its own."""
    path = f"{kind.__module__}.{kind.__qualname__}"
    if LOCALS not in path:
        return path
    number, name = 1, path
    while _classes.setdefault(name, kind) is not kind:  # the function was called before
        number += 1
        name = f"{path}_{number}"
    return name


def local_class(class_path: str) -> type | None:
    """The class of a path that `class_path_of` has made in this process."""
    return _classes.get(class_path)


def name_by_value(class_path: str) -> str | None:
    """The name that a class of the main module or of a function has in a module where all that are
    sent by value stand; None for a class that other processes can import."""
    if not class_path.startswith(MAIN) and LOCALS not in class_path:
        return None
    return re.sub(r"\W+", "_", class_path.removeprefix(MAIN))
