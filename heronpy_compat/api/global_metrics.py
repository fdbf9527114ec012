"""heronpy.api.global_metrics."""

from heron_api.global_metrics import incr as incr
from heron_api.global_metrics import init as init
from heron_api.global_metrics import lock as lock
from heron_api.global_metrics import metricsContainer as metricsContainer
from heron_api.global_metrics import registered as registered
from heron_api.global_metrics import root_name as root_name
from heron_api.global_metrics import safe_incr as safe_incr
