"""What windows and timers by event time are made of, under one name for users.

Example:

    from heronpy_compat.windows import Count, KeyedWindowBolt, Session, Sliding, Trigger, Tumbling
"""

from heron_api.windows.batch_window_bolt import BatchWindowBolt as BatchWindowBolt
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt as KeyedProcessBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt as KeyedWindowBolt
from heron_api.windows.partial_bolt import MergeWindowBolt as MergeWindowBolt
from heron_api.windows.partial_bolt import PartialBolt as PartialBolt
from heron_api.windows.pattern_matching import PatternBolt as PatternBolt
from heron_api.windows.windowed_bolt import TupleWindow as TupleWindow
from heron_api.windows.windowed_bolt import WindowedBolt as WindowedBolt
from heron_core.algorithms.event_windows.aggregates import Count as Count
from heron_core.algorithms.event_windows.aggregates import Reduce as Reduce
from heron_core.algorithms.event_windows.assigners import Global as Global
from heron_core.algorithms.event_windows.assigners import Session as Session
from heron_core.algorithms.event_windows.assigners import Sliding as Sliding
from heron_core.algorithms.event_windows.assigners import Tumbling as Tumbling
from heron_core.algorithms.event_windows.strategies import BoundedDisorder as BoundedDisorder
from heron_core.algorithms.event_windows.strategies import ByPartition as ByPartition
from heron_core.algorithms.event_windows.strategies import Given as Given
from heron_core.algorithms.event_windows.strategies import Monotonous as Monotonous
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy as WatermarkStrategy
from heron_core.algorithms.event_windows.triggers import Trigger as Trigger
from heron_core.algorithms.event_windows.values import Firing as Firing
from heron_core.algorithms.patterns import Pattern as Pattern
from heron_core.algorithms.patterns import sequence as sequence
from heron_core.state.timer_service import TimeDomain as TimeDomain
from heron_core.state.timer_service import Timer as Timer
from heronpy_compat.streamlet.keyedprocess import KeyedProcess as KeyedProcess
from heronpy_compat.streamlet.keyedprocess import ProcessContext as ProcessContext
