"""heronpy.api.custom_grouping."""

from heron_api.custom_grouping import ICustomGrouping as ICustomGrouping
