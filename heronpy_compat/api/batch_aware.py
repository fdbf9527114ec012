"""heronpy.api.batch_aware."""

from heron_api.batch_aware import BatchAware as BatchAware
