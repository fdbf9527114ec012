"""Hadoop's configuration, from the folder that a cluster's file names, with bounded patience."""

import os
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from heron_core.errors import UsageError
from heron_engine.scheduler.backends.yarn.jvm import YarnJvm

FOLDER_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
SITE = "yarn-site.xml"
FILES = ("core-site.xml", "hdfs-site.xml", SITE)
PATIENCE: Mapping[str, str] = {
    # Hadoop's own defaults take a quarter of an hour to report an unreachable server.
    "yarn.resourcemanager.connect.max-wait.ms": "15000",
    "yarn.resourcemanager.connect.retry-interval.ms": "1000",
    "yarn.client.failover-max-attempts": "6",
    "yarn.client.application-client-protocol.poll-timeout-ms": "60000",
    "ipc.client.connect.max.retries": "2",
    "ipc.client.connect.retry.interval": "1000",
    "ipc.client.connect.max.retries.on.timeouts": "2",
    "ipc.client.connect.timeout": "5000",
}
"""Timeouts for commands, and for the application master's loop, which retries."""


def conf_folder(given: str | None, key: str) -> str:
    """The folder with yarn-site.xml: the cluster file's, else HADOOP_CONF_DIR; UsageError for a
    missing folder or an invalid file. `key` is the setting's name."""
    named = next((os.environ[x] for x in FOLDER_VARIABLES if os.environ.get(x)), None)
    if given is None and named is None:
        raise UsageError(f"YARN is not known: set {key}, or HADOOP_CONF_DIR")
    folder = os.path.abspath(os.path.expanduser(given or named or ""))
    if not os.path.isfile(os.path.join(folder, SITE)):
        raise UsageError(f"{folder} has no {SITE}: set {key}")
    for file in FILES:
        _check_xml(os.path.join(folder, file))
    return folder


def _check_xml(path: str) -> None:
    if not os.path.exists(path):
        return
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if root.tag != "configuration":
        raise UsageError(f"{path} starts with <{root.tag}>, not with <configuration>")


def from_folder(jvm: YarnJvm, folder: str) -> Any:
    """A YarnConfiguration of the folder's files."""
    paths = [os.path.join(folder, each) for each in FILES]
    return from_files(jvm, [each for each in paths if os.path.exists(each)])


def from_files(jvm: YarnJvm, files: list[str]) -> Any:
    """A YarnConfiguration of files."""
    configuration = jvm.classes.org.apache.hadoop.yarn.conf.YarnConfiguration()
    for each in files:
        configuration.addResource(jvm.classes.org.apache.hadoop.fs.Path(f"file://{each}"))
    # Kerberos or not, as Hadoop is configured.
    jvm.classes.org.apache.hadoop.security.UserGroupInformation.setConfiguration(configuration)
    return configuration


def patient(jvm: YarnJvm, configuration: Any) -> Any:
    """A copy with timeouts suitable for interactive use."""
    copy = jvm.classes.org.apache.hadoop.yarn.conf.YarnConfiguration(configuration)
    for key, value in PATIENCE.items():
        copy.set(key, value)
    return copy
