"""Topologies: components, their streams and groupings.

Plain frozen values, stored as readable JSON; objects without JSON form (a custom grouping, an
unusual config value, infinity) are included as base64 of their cloudpickle bytes. Only instances
unpickle them: other processes lack the user's modules.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

from msgspec import Struct, field

from heron_core.config import SAME_IN_OTHER_WORDS
from heron_core.graph_walks import reachable
from heron_core.records import replace
from heron_core.typed_json import from_json, to_json
from heron_core.wire.pickled import Pickled

Config = Mapping[str, Any]
DEFAULT_STREAM = "default"
TICK_STREAM = "__tick"
SYSTEM_COMPONENT = "__system"
PICKLED_KEY = "__cloudpickle__"
SPOUT, BOLT = "spout", "bolt"
"""The two kinds of components, as in JSON and for people."""


class GroupingKind(Enum):
    """How the tuples of a stream are shared out over a consumer's tasks (Storm and Heron names).

    The columns: the value in JSON; Heron's name and number in topology.proto, the nearest ones
    where Heron has none; the member of Storm's Thrift union, whose global grouping is one by no
    field.
    """

    SHUFFLE = "shuffle", "SHUFFLE", 1, "SHUFFLE"
    FIELDS = "fields", "FIELDS", 2, "FIELDS"
    ALL = "all", "ALL", 3, "ALL"
    GLOBAL = "global", "LOWEST", 4, "FIELDS"
    NONE = "none", "NONE", 5, "NONE"
    DIRECT = "direct", "DIRECT", 6, "DIRECT"
    LOCAL_OR_SHUFFLE = "local_or_shuffle", "SHUFFLE", 1, "LOCAL_OR_SHUFFLE"
    PARTIAL_KEY = "partial_key", "FIELDS", 2, "CUSTOM_OBJECT"
    CUSTOM = "custom", "CUSTOM", 7, "CUSTOM_SERIALIZED"

    of_heron: str
    heron_number: int
    of_storm: str

    def __new__(
        cls, value: str, of_heron: str = "", heron_number: int = 0, of_storm: str = ""
    ) -> "GroupingKind":
        """A member whose value is the word in JSON; a look-up has the word alone."""
        member = object.__new__(cls)
        member._value_ = value
        member.of_heron, member.heron_number, member.of_storm = of_heron, heron_number, of_storm
        return member

    @property
    def is_keyed(self) -> bool:
        """Whether fields of the tuple, which the grouping names, decide."""
        return self in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY)

    @property
    def is_spread(self) -> bool:
        """Whether any task may take any tuple, and each gets about as many."""
        return self in (GroupingKind.SHUFFLE, GroupingKind.NONE, GroupingKind.LOCAL_OR_SHUFFLE)

    @property
    def is_to_one(self) -> bool:
        """Whether one task gets all tuples, for any number of tasks."""
        return self is GroupingKind.GLOBAL


class GroupingSpec(Struct, frozen=True):
    """One grouping; `fields` for FIELDS and PARTIAL_KEY, `custom` (cloudpickle) for CUSTOM."""

    omitted: ClassVar[tuple[str, ...]] = ("fields",)
    kind: GroupingKind
    fields: tuple[str, ...] = ()
    custom: bytes | None = None


class StreamSpec(Struct, frozen=True):
    """One output stream with its field names; `direct` streams are emitted to named tasks only."""

    omitted: ClassVar[tuple[str, ...]] = ("types",)
    name: str = field(name="stream")
    fields: tuple[str, ...]
    direct: bool = False
    types: tuple[str, ...] = ()
    """Types of the fields, as in SQL (field_types.py); empty if none are declared."""


class InputSpec(Struct, frozen=True):
    """One subscription of a bolt: component, stream and grouping."""

    component: str
    stream: str
    grouping: GroupingSpec


class ComponentSpec(Struct, frozen=True):
    """One spout or bolt: class path, parallelism, streams and config."""

    omitted: ClassVar[tuple[str, ...]] = ("code", "keeps_state", "folder", "is_async")
    name: str
    is_spout: bool = field(name="type")
    class_path: str = field(name="class")
    parallelism: int
    outputs: tuple[StreamSpec, ...] = ()
    inputs: tuple[InputSpec, ...] = ()
    config: Config = field(default_factory=dict)
    code: str = ""
    """Fingerprint of the class at load time (heron_frontends.loading.fingerprints); empty if not
    taken."""
    keeps_state: bool = False
    """Whether the class takes a state, as far as can be seen when it is loaded."""
    folder: str = ""
    """Working folder of the component's processes; empty for the starter's folder."""
    is_async: bool = field(default=False, name="async")
    """Whether the class's `process` is a coroutine, if known."""

    def json_values(self) -> dict[str, Any]:
        """For typed_json: the kind as a word, and a config with JSON values."""
        kind = SPOUT if self.is_spout else BOLT
        return {"type": kind, "config": config_to_json(self.config, self.name)}

    @staticmethod
    def field_values(data: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse."""
        config = config_from_json(data.get("config", {}))
        return {"type": data["type"] == SPOUT, "config": config}

    @property
    def label(self) -> str:
        """Kind and name, for a line of text."""
        return f"{SPOUT if self.is_spout else BOLT} {self.name!r}"

    @property
    def is_divided_by_key(self) -> bool:
        """Whether each key is at the task to which fields grouping sends it."""
        return {each.grouping.kind for each in self.inputs} == {GroupingKind.FIELDS}

    def overruled(self, above: Config) -> "ComponentSpec":
        """The component, with config keys overridden by equal or equivalent keys in `above`."""
        others = {other for key in above for other in _other_words(key, above)}
        if not (others | above.keys()) & self.config.keys():
            return self
        config = {
            key: above.get(key, value) for key, value in self.config.items() if key not in others
        }
        return replace(self, config=config)

    def stream(self, name: str) -> StreamSpec | None:
        """The output stream called `name`, or None."""
        return next((stream for stream in self.outputs if stream.name == name), None)


class TopologySpec(Struct, frozen=True, dict=True):
    """A whole topology. `search_paths` are put on sys.path where its classes are imported."""

    name: str
    components: tuple[ComponentSpec, ...]
    config: Config = field(default_factory=dict)
    search_paths: tuple[str, ...] = ()
    main_file: str = ""
    defaults: Config = field(default_factory=dict)
    """Defaults of the topology's API (Storm's is at least once), below every other config."""
    overrides: tuple[str, ...] = ()
    """Keys of `config` that the command line or a test has set: these beat the components' own."""

    def json_values(self) -> dict[str, Any]:
        """For typed_json: the configs as JSON values."""
        return {"config": config_to_json(self.config), "defaults": config_to_json(self.defaults)}

    @staticmethod
    def field_values(data: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse."""
        return {key: config_from_json(data.get(key, {})) for key in ("config", "defaults")}

    @cached_property
    def by_name(self) -> dict[str, ComponentSpec]:
        """Components by their name."""
        return {component.name: component for component in self.components}

    @cached_property
    def consumers(self) -> dict[tuple[str, str], list[tuple[ComponentSpec, InputSpec]]]:
        """(component, stream) -> the bolts that read the stream, in order of declaration."""
        readers: dict[tuple[str, str], list[tuple[ComponentSpec, InputSpec]]] = {}
        for component in self.components:
            for each in component.inputs:
                readers.setdefault((each.component, each.stream), []).append((component, each))
        return readers

    @cached_property
    def feeders(self) -> dict[str, frozenset[str]]:
        """component -> components that send to it."""
        return {
            component.name: frozenset(x.component for x in component.inputs) & self.by_name.keys()
            for component in self.components
        }

    def readers_of(self, component: str) -> set[str]:
        """Names of the components that read a stream of `component`."""
        return {name for name, feeders in self.feeders.items() if component in feeders}

    def components_behind(self, component: str) -> frozenset[str]:
        """Names of the components that get something from `component`, on any path."""
        return reachable(component, self.readers_of)

    def with_class(self, component: str, class_path: str) -> "TopologySpec":
        """The same topology with another class path of a component."""
        components = tuple(
            replace(each, class_path=class_path) if each.name == component else each
            for each in self.components
        )
        return replace(self, components=components)

    def with_config(
        self, extra: Config, below: Config | None = None, overrides: Iterable[str] | None = None
    ) -> "TopologySpec":
        """The topology with its config resolved.

        From lowest to highest: the API's defaults, `below` (the environment's), the topology's
        config, `extra` (the command line's), which also overrides each component's config
        (`overrides`: only these keys do). A layer overrides equivalent keys of lower layers:
        Storm's number of ackers overrides the reliability mode.
        """
        merged: dict[str, Any] = {}
        for layer in (self.defaults, below or {}, self.config, extra):
            for key in layer:
                for other in _other_words(key, layer):
                    merged.pop(other, None)
            merged.update(layer)
        beating = tuple(key for key in (extra if overrides is None else overrides) if key in extra)
        above = {key: extra[key] for key in beating}
        return replace(
            self,
            config=merged,
            defaults={},
            components=tuple(component.overruled(above) for component in self.components),
            overrides=tuple(dict.fromkeys((*self.overrides, *beating))),
        )


def _other_words(key: str, layer: Config) -> tuple[str, ...]:
    """Keys equivalent to `key`, except those that `layer` sets as well.

    Storm's null means not set.
    """
    if layer[key] is None:
        return ()
    return tuple(each for each in SAME_IN_OTHER_WORDS.get(key, ()) if each not in layer)


def config_to_json(config: Config, owner: str = "the topology") -> dict[str, Any]:
    """Config values as JSON values; values without a JSON form are pickled in base64.

    TopologyError with `owner` and key for a value that cannot be pickled.
    """
    where = f"config of {owner}: the value of"
    return {key: _value_to_json(value, f"{where} {key}") for key, value in config.items()}


def config_from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `config_to_json`, except that pickled values stay `Pickled`."""
    return {key: _value_from_json(value) for key, value in data.items()}


def _is_plain(value: object) -> bool:
    if value is None or type(value) in (bool, int, str):
        return True
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is list:
        return all(_is_plain(each) for each in value)
    if type(value) is dict:
        return PICKLED_KEY not in value and all(
            type(key) is str and _is_plain(member) for key, member in value.items()
        )
    return False


def _value_to_json(value: object, where: str) -> object:
    if _is_plain(value):
        return value
    return {PICKLED_KEY: base64.b64encode(Pickled.of(value, where).data).decode("ascii")}


def _value_from_json(value: Any) -> Any:
    if type(value) is dict and PICKLED_KEY in value:
        return Pickled(base64.b64decode(value[PICKLED_KEY]))
    return value


def topology_to_json(topology: TopologySpec) -> dict[str, Any]:
    """The topology as JSON values, as in the state store under /topologies."""
    data: dict[str, Any] = to_json(topology)
    return data


def topology_from_json(data: Any) -> TopologySpec:
    """The inverse of `topology_to_json`; ProtocolError with the part of `data` that is wrong."""
    return from_json(TopologySpec, data, "the topology")
