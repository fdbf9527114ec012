"""Monoids: what mergeable and partial states, and windows, are made of."""

from heron_core.state.mergeable import MergeableState as MergeableState
from heron_core.state.mergeable import PartialState as PartialState
from heron_core.state.monoid import MeanOf as MeanOf
from heron_core.state.monoid import Merged as Merged
from heron_core.state.monoid import Monoid as Monoid
from heron_core.state.monoid import SumOf as SumOf
