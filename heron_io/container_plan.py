"""The packing plan that a container works by, handed from its stream manager to its executor.

A file beside the stream manager's socket, in the folder that only its owner may enter: the executor
forks and must not have the threads of a state store's client, nor wait for a store that is away.
"""

import json
import os

from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, packing_from_json, packing_to_json


def write(socket_path: str, packing: PackingPlan) -> None:
    """Leave the plan for the executor, whole or not at all; OSError if that cannot be."""
    path = _path(socket_path)
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(packing_to_json(packing), file)
    os.replace(f"{path}.part", path)


def read(socket_path: str) -> PackingPlan:
    """The plan that the stream manager left; HeronError if it cannot be read."""
    path = _path(socket_path)
    try:
        with open(path, encoding="utf-8") as file:
            return packing_from_json(json.load(file))
    except (OSError, ValueError) as error:
        raise HeronError(f"no packing plan in {path}: {error}") from None


def _path(socket_path: str) -> str:
    return f"{socket_path}.packing"
