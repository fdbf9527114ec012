"""Samza's low-level API: tasks with local stores, over partitions of streams.

    heronpy run job.properties

starts the job of a file in Samza's form; docs/SAMZA.md has the keys and the differences.
"""

from heronpy_compat.samza.envelopes import IncomingMessageEnvelope as IncomingMessageEnvelope
from heronpy_compat.samza.envelopes import OutgoingMessageEnvelope as OutgoingMessageEnvelope
from heronpy_compat.samza.envelopes import SystemStream as SystemStream
from heronpy_compat.samza.envelopes import SystemStreamPartition as SystemStreamPartition
from heronpy_compat.samza.jobs import builder_of as builder_of
from heronpy_compat.samza.jobs import samza_job as samza_job
from heronpy_compat.samza.stores import KeyValueStore as KeyValueStore
from heronpy_compat.samza.tasks import AsyncStreamTask as AsyncStreamTask
from heronpy_compat.samza.tasks import ClosableTask as ClosableTask
from heronpy_compat.samza.tasks import EndOfStreamListenerTask as EndOfStreamListenerTask
from heronpy_compat.samza.tasks import InitableTask as InitableTask
from heronpy_compat.samza.tasks import MessageCollector as MessageCollector
from heronpy_compat.samza.tasks import RequestScope as RequestScope
from heronpy_compat.samza.tasks import StreamTask as StreamTask
from heronpy_compat.samza.tasks import TaskCallback as TaskCallback
from heronpy_compat.samza.tasks import TaskContext as TaskContext
from heronpy_compat.samza.tasks import TaskCoordinator as TaskCoordinator
from heronpy_compat.samza.tasks import WindowableTask as WindowableTask
