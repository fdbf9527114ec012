"""Migration of state saved by an earlier version of a component's class.

A class declares the version of its state by `state_version` (a number, default 0). If the
restored state has a different version, `migrate` is called once, after `init_state` and before
`initialize`:

    class Count(Bolt, StatefulComponent):
        state_version = 2
        total = value_state(default=0.0)

        def migrate(self, old):
            counts = old.value_state("count")
            for key in list(counts.all_keys()):
                self.total.for_key(key).put(float(counts.for_key(key).get()))
            counts.clear_all()

The version is saved with the state, for checkpoints and savepoints.
"""

from typing import Any

from heron_api.state.component_state import ComponentState
from heron_core.errors import ComponentError
from heron_core.state.named_states import NamedStates
from heron_core.state.protocol import ABSENT, StateKind, TableId

_VERSION = TableId("version of the state", StateKind.WATERMARK, nested=False)
"""Of several parts of a state the least counts, as of watermarks."""
_KEY = "version"


class OldState(ComponentState):
    """Argument of `migrate`: the states by their saved names and kinds.

    Example:

        from heronpy_compat import Bolt
        from heronpy_compat.api.state.keyed_state import value_state

        class Count(Bolt):
            state_version = 1
            total = value_state(default=0.0)

            def migrate(self, old):
                counts = old.value_state("count")
                for key, number in list(counts.all_items()):
                    self.total.for_key(key).put(float(number))
                counts.clear_all()
    """

    def __init__(self, named: NamedStates, version: int) -> None:
        super().__init__(named)
        self.version = version
        """The state_version of the saving class."""


def migrate(user: Any, state: Any, component: str, is_restored: bool) -> None:
    """Migrate the state of a different version of the class; ComponentError without a `migrate`
    method."""
    if not isinstance(state, ComponentState):
        return
    wanted, backend = getattr(type(user), "state_version", 0), state.named.backend
    if type(wanted) is not int or wanted < 0:
        raise ComponentError(f"{component}: state_version is {wanted!r}: use a whole number from 0")
    saved_version = _saved_version(state) if is_restored else wanted
    if saved_version != wanted:
        hook = getattr(user, "migrate", None)
        if not callable(hook):
            raise ComponentError(
                f"{component}: its state was saved by state_version {saved_version} of its "
                f"class, but version {wanted} has no migrate(old): add the method, or keep the "
                "version"
            )
        hook(OldState(state.named.as_saved(), saved_version))
    if wanted or saved_version:
        backend.table(_VERSION).put(_KEY, wanted)


def _saved_version(state: ComponentState) -> int:
    if _VERSION not in state.named.backend.names():
        return 0
    found = state.named.backend.table(_VERSION).get(_KEY)
    return 0 if found is ABSENT else int(found)
