"""Requests and their answers (Storm: DRPC), under one name for users.

Example:

    from heronpy_compat.drpc import BaseBasicBolt, DRPCSpout, LinearDRPCTopologyBuilder
"""

from heron_api.requests.basic_bolt import BaseBasicBolt as BaseBasicBolt
from heron_api.requests.basic_bolt import BasicOutputCollector as BasicOutputCollector
from heron_api.requests.basic_bolt import FailedException as FailedException
from heron_api.requests.batch_bolt import BaseBatchBolt as BaseBatchBolt
from heron_api.requests.batch_bolt import BatchOutputCollector as BatchOutputCollector
from heron_api.requests.coordinated_bolt import CoordinatedBolt as CoordinatedBolt
from heron_api.requests.linear_bolts import JoinResult as JoinResult
from heron_api.requests.linear_bolts import KeyedFairBolt as KeyedFairBolt
from heron_api.requests.linear_bolts import PrepareRequest as PrepareRequest
from heron_connectors.requests.client import DRPCClient as DRPCClient
from heron_connectors.requests.linear import LinearDRPCTopologyBuilder as LinearDRPCTopologyBuilder
from heron_connectors.requests.return_results import ReturnResults as ReturnResults
from heron_connectors.requests.spout import DRPCSpout as DRPCSpout
from heron_connectors.requests.thrift_interface import (
    DRPCExecutionException as DRPCExecutionException,
)
