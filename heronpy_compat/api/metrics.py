"""heronpy.api.metrics."""

from heron_api.metrics import AssignableMetrics as AssignableMetrics
from heron_api.metrics import CountMetric as CountMetric
from heron_api.metrics import IMetric as IMetric
from heron_api.metrics import IReducer as IReducer
from heron_api.metrics import MeanReducedMetric as MeanReducedMetric
from heron_api.metrics import MeanReducer as MeanReducer
from heron_api.metrics import MultiAssignableMetrics as MultiAssignableMetrics
from heron_api.metrics import MultiCountMetric as MultiCountMetric
from heron_api.metrics import MultiMeanReducedMetric as MultiMeanReducedMetric
from heron_api.metrics import MultiReducedMetric as MultiReducedMetric
from heron_api.metrics import ReducedMetric as ReducedMetric
