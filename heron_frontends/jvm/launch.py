"""Starts the JVM of a component, or one that describes components, by a topology's config."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_frontends.jvm.class_path import class_path, storm_jar
from heron_frontends.jvm.host_build import MAIN_CLASS, host_classes
from heron_frontends.jvm.java_process import JavaProcess
from heronpy_compat.multilang_clients import variables

OPTIONS = (
    "-XX:+UseSerialGC",  # an instance has one thread of user code: threads of a collector are idle
    "-XX:-UsePerfData",  # a file of each JVM in the temporary folder, which a kill leaves there
    "-XX:+ExitOnOutOfMemoryError",
    "-Dorg.apache.logging.log4j.level=INFO",  # as Storm's workers; a log4j2.xml says otherwise
)


@dataclass(frozen=True, slots=True)
class Launch:
    """All that a start takes."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str

    @staticmethod
    def of(config: Mapping[str, Any], folder: str) -> "Launch":
        """By a config; `folder` is that of the topology's file. ComponentError, in one line, for
        what is missing; the host is compiled if need be."""
        merged = keys.with_fallbacks(keys.with_defaults(config))
        entries = class_path(merged, folder)
        java, host = host_classes(entries, storm_jar(entries))
        options = keys.given(merged, keys.JAVA_OPTIONS) or ()
        path = os.pathsep.join((host, *entries))
        command = (java, *OPTIONS, *options, "-cp", path, MAIN_CLASS)
        environment = variables({**os.environ, **keys.environment(merged)})
        return Launch(command, environment, folder)

    def start(self, logger: logging.Logger, label: str) -> JavaProcess:
        """A JVM that waits for its first command; ComponentError if it cannot be started."""
        return JavaProcess(self.command, self.environment, self.folder, logger, label)


def ended_at_start(label: str, how: str) -> ComponentError:
    """A JVM that has ended before it was ready: a wrong option, System.exit, a kill."""
    return ComponentError(f"{label}: its JVM {how}")
