"""heronpy.api.state.state."""

from heron_api.state.state import HashMapState as HashMapState
from heron_api.state.state import State as State
