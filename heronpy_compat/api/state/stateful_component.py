"""heronpy.api.state.stateful_component."""

from heron_api.state.stateful_component import StatefulComponent as StatefulComponent
from heron_api.state.stateful_component import (
    TwoPhaseStatefulComponent as TwoPhaseStatefulComponent,
)
