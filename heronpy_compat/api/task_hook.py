"""heronpy.api.task_hook."""

from heron_api.task_hook import BoltAckInfo as BoltAckInfo
from heron_api.task_hook import BoltExecuteInfo as BoltExecuteInfo
from heron_api.task_hook import BoltFailInfo as BoltFailInfo
from heron_api.task_hook import EmitInfo as EmitInfo
from heron_api.task_hook import ITaskHook as ITaskHook
from heron_api.task_hook import SpoutAckInfo as SpoutAckInfo
from heron_api.task_hook import SpoutFailInfo as SpoutFailInfo
