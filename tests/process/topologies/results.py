"""Where the components of these topologies write down what they saw, for the test to read."""

import json
import os


def write(context, found):
    """Write `found` as this task's result, whole or not at all."""
    write_as(f"{context.get_component_id()}-{context.get_task_id()}", found)


def write_as(name, found):
    """Write `found` under a name of its own."""
    path = os.path.join(os.environ["TEST_RESULTS"], name)
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(found, file)
    os.rename(f"{path}.part", f"{path}.json")
