"""heronpy.api.state.keyed_state."""

from heron_api.state.keyed_state import DeclaredState as DeclaredState
from heron_api.state.keyed_state import list_state as list_state
from heron_api.state.keyed_state import map_state as map_state
from heron_api.state.keyed_state import mergeable_state as mergeable_state
from heron_api.state.keyed_state import partial_state as partial_state
from heron_api.state.keyed_state import reducing_state as reducing_state
from heron_api.state.keyed_state import value_state as value_state
from heron_core.state.states import ListState as ListState
from heron_core.state.states import MapState as MapState
from heron_core.state.states import ReducingState as ReducingState
from heron_core.state.states import ValueState as ValueState
