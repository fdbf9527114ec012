"""A job of Samza as a topology: a file of properties, or a dict of them."""

import os
from collections.abc import Mapping
from typing import Any

from heron_api.stream import Grouping, Stream
from heron_api.topology import TopologyBuilder
from heron_connectors.files.sink import FileSink
from heron_connectors.kafka.sink import KafkaSink
from heron_connectors.two_phase import CONTINUES
from heron_core import config as keys
from heron_core.errors import HeronError, TopologyError
from heron_core.java_properties import parse_properties
from heronpy_compat.samza.container import PROPERTIES, SamzaContainer
from heronpy_compat.samza.envelopes import SystemStream
from heronpy_compat.samza.job_settings import JobSettings, job_settings

TASKS = "tasks"
"""Component of the tasks."""
ROLL_SECS = 0.5
"""A sink of files writes its lines after this time: a commit waits for the sink."""
_PATHS = ("task.checkpoint.path", "job.logged.store.base.dir")


def job_of_file(path: str) -> dict[str, str]:
    """The properties of a file; folders are relative to the file's folder.

    TopologyError, in one line with the name, for an unreadable file.
    """
    try:
        with open(path, encoding="utf-8") as file:
            properties = parse_properties(file)
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyError(f"{path} cannot be read: {error}") from None
    folder = os.path.dirname(os.path.abspath(path))
    for name, value in properties.items():
        is_path = name in _PATHS or (name.startswith("systems.") and name.endswith(".path"))
        if is_path and value and "://" not in value:
            properties[name] = os.path.join(folder, value)
    return properties


def builder_of(properties: Mapping[str, str], name: str | None = None) -> TopologyBuilder:
    """The topology of a job: tasks, and a sink for each stream of `task.outputs`.

    `name` is by default `job.name`-`job.id`. TopologyError or ComponentError for the first mistake.
    """
    settings = job_settings(properties)
    builder = TopologyBuilder(name or settings.name)
    builder.set_config({keys.RELIABILITY_MODE: keys.ATLEAST_ONCE})
    streams = [
        Stream(["message"] if settings.is_of_files(output) else ["key", "message"], str(output))
        for output in settings.outputs
    ]
    tasks = builder.add_spout(
        TASKS, SamzaContainer, settings.containers, {PROPERTIES: dict(properties)}, streams
    )
    for output in settings.outputs:
        sink, config = _sink(settings, output)
        builder.add_bolt(str(output), sink, 1, {tasks[str(output)]: Grouping.SHUFFLE}, config)
    return builder


def _sink(settings: JobSettings, output: SystemStream) -> tuple[Any, dict[str, Any]]:
    if settings.is_of_files(output):
        folder = os.path.join(settings.of_system(output.system, "path"), output.stream)
        return FileSink, {
            CONTINUES: bool(settings.checkpoints),
            "file.folder": folder, "file.format": "text", "file.roll.secs": ROLL_SECS,
        }  # fmt: skip
    client = settings.client_settings(output.system, "producer")
    return KafkaSink, {
        CONTINUES: bool(settings.checkpoints),
        "kafka.topic": output.stream,
        "kafka.bootstrap.servers": client.pop("bootstrap.servers"),
        "kafka.key.position": 0,
        "kafka.value.position": 1,
        "kafka.producer": client,
    }


def samza_job(path: str, name: str | None = None) -> TopologyBuilder:
    """The topology of a file of properties; errors begin with the file."""
    properties = job_of_file(path)
    try:
        return builder_of(properties, name)
    except HeronError as error:
        raise TopologyError(f"{path}: {error}") from None
