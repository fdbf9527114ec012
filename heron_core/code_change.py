"""Effect of new code on a running topology: components replaced, added, removed.

Pure: `running` is the topology of the active plan, `loaded` the topology of the new file. A
component is affected if its definition has changed (class, config, streams, inputs), or if its
readers have changed: its instances are replaced by new instances, with new task ids. All other
components are untouched.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from heron_core.errors import TopologyError, UsageError
from heron_core.naming import first_of
from heron_core.records import replace
from heron_core.topology import ComponentSpec, InputSpec, TopologySpec


class CodeChange(Struct, frozen=True):
    """The changes of a topology, by the names of components."""

    topology: TopologySpec
    """The topology after the change."""
    replaced: tuple[str, ...]
    """Components with a changed definition."""
    rewired: tuple[str, ...]
    """Components with changed readers only: their instances are replaced as well."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    notes: tuple[str, ...]
    """Notes for a person, one line each."""

    @property
    def is_nothing(self) -> bool:
        """Whether the change leaves all components as they are."""
        return not (self.replaced or self.rewired or self.added or self.removed)

    @property
    def renewed(self) -> frozenset[str]:
        """The components that stay and get new instances."""
        return frozenset((*self.replaced, *self.rewired))

    def __str__(self) -> str:
        parts = {
            "replaced": self.replaced,
            "restarted because their readers change": self.rewired,
            "added": self.added,
            "removed": self.removed,
            "untouched": self.unchanged,
        }
        return "; ".join(f"{what}: {first_of(names)}" for what, names in parts.items() if names)


def changed_code(
    running: TopologySpec,
    loaded: TopologySpec,
    instances: Mapping[str, int],
    allow_non_restored: bool = False,
) -> CodeChange:
    """The change from a running topology to the code of `loaded`; `instances` has the present
    number of instances of each component. TopologyError or UsageError for an impossible change."""
    before, after = running.by_name, loaded.by_name
    removed = tuple(name for name in before if name not in after)
    _check_kinds(before, after)
    dropped = _dropped(running.name, [before[name] for name in removed], allow_non_restored)
    kept = [name for name in after if name in before]
    replaced = tuple(name for name in kept if is_another(before[name], after[name]))
    rewired = tuple(
        name
        for name in kept
        if name not in replaced and _read_by(running, name) != _read_by(loaded, name)
    )
    _check_not_edited(running, loaded, replaced)
    components = tuple(
        replace(component, parallelism=instances.get(component.name, component.parallelism))
        for component in loaded.components
    )
    paths = tuple(dict.fromkeys((*loaded.search_paths, *running.search_paths)))
    return CodeChange(
        replace(loaded, name=running.name, components=components, config=running.config,
                search_paths=paths, defaults={}, overrides=running.overrides),
        replaced,
        rewired,
        tuple(name for name in after if name not in before),
        removed,
        tuple(name for name in kept if name not in (*replaced, *rewired)),
        (*dropped, *_config_notes(running, loaded), *_parallelism_notes(loaded, instances)),
    )  # fmt: skip


def is_another(before: ComponentSpec, after: ComponentSpec) -> bool:
    """Whether a component's definition has changed. The class path is irrelevant if the code is
    equal, and so is the parallelism."""
    same_code = before.code == after.code
    if not before.code or not after.code:
        same_code = before.class_path == after.class_path
    declared = (before.outputs, before.inputs, before.config)
    return not same_code or declared != (after.outputs, after.inputs, after.config)


def _read_by(topology: TopologySpec, component: str) -> dict[str, list[InputSpec]]:
    """reader -> its inputs that are streams of a component."""
    return {
        each.name: own_inputs
        for each in topology.components
        if (own_inputs := [one for one in each.inputs if one.component == component])
    }


def _check_kinds(before: Mapping[str, ComponentSpec], after: Mapping[str, ComponentSpec]) -> None:
    for name in before.keys() & after.keys():
        if before[name].is_spout != after[name].is_spout:
            kinds = [("bolt", "spout")[each[name].is_spout] for each in (before, after)]
            raise TopologyError(
                f"{name} is a {kinds[0]} in the running topology, but a {kinds[1]} in the new "
                "code: give the new component another name"
            )


def _dropped(topology: str, removed: Iterable[ComponentSpec], allowed: bool) -> list[str]:
    """Notes on dropped state; TopologyError if dropping is not permitted."""
    gone = [each.name for each in removed if each.keeps_state]
    if gone and not allowed:
        raise TopologyError(
            f"{topology} has state of {first_of(gone)}, which the new code has not: keep the name, "
            "or drop that state by --allow-non-restored"
        )
    return [f"{name} was removed: its state is dropped" for name in gone]


def _check_not_edited(running: TopologySpec, loaded: TopologySpec, replaced: Iterable[str]) -> None:
    """Raise if files of running code have changed: a restarted process would load these again."""
    if running.main_file != loaded.main_file:
        return
    for name in replaced:
        old, new = running.by_name[name], loaded.by_name[name]
        if (old.class_path, bool(old.code)) == (new.class_path, True) and old.code != new.code:
            raise UsageError(
                f"{loaded.main_file} is the file that {running.name} was started from, and "
                f"{name} was changed in place: restore the file, and give the new code in "
                "another file or archive"
            )


def _config_notes(running: TopologySpec, loaded: TopologySpec) -> list[str]:
    other = [key for key, value in loaded.config.items() if running.config.get(key, value) != value]
    if not other:
        return []
    return [f"the topology's own config stays as submitted: {first_of(other)}"]


def _parallelism_notes(loaded: TopologySpec, instances: Mapping[str, int]) -> list[str]:
    return [
        f"{each.name} keeps its {instances[each.name]} instances (the new code has "
        f"{each.parallelism}): change the number with `heronpy update --component-parallelism`"
        for each in loaded.components
        if instances.get(each.name, each.parallelism) != each.parallelism
    ]
