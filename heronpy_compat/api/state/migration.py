"""heronpy.api.state.migration."""

from heron_api.state.migration import OldState as OldState
