"""Topologies as classes and as a builder's calls (heronpy.api.topology)."""

import json
import os
from typing import Any, cast

from heron_api import api_constants, direct_run, interactive_run, submissions
from heron_api.component.component_spec import (
    HeronComponentSpec,
    arriving_config,
    check_config,
)
from heron_api.errors import WrongArgumentError
from heron_api.proto.values import heron_value
from heron_core import config as core_config
from heron_core import validation
from heron_core.errors import TopologyError
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json

direct_run.report_errors_in_one_line()

_OPTIONS_VARIABLE = "HERON_OPTIONS"
_OPTION_DIRECTORY = "cmdline.topologydefn.tmpdirectory"
_OPTION_STATE = "cmdline.topology.initial.state"
_OPTION_NAME = "cmdline.topology.name"
# heronpy's submitter encodes blanks, because options are split at commas and passed in a shell.
_BLANK = "%%%%"


class TopologyType(type):
    """Metaclass of topologies: checks the class and stores a TopologySpec."""

    DEFAULT_TOPOLOGY_CONFIG = {
        key: heron_value(core_config.DEFAULTS.get(key, 1))
        for key in (
            api_constants.TOPOLOGY_DEBUG,
            api_constants.TOPOLOGY_STMGRS,
            api_constants.TOPOLOGY_MESSAGE_TIMEOUT_SECS,
            api_constants.TOPOLOGY_COMPONENT_PARALLELISM,
            api_constants.TOPOLOGY_MAX_SPOUT_PENDING,
            api_constants.TOPOLOGY_RELIABILITY_MODE,
            api_constants.TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS,
        )
    }

    def __new__(
        mcs, classname: str, bases: tuple[type, ...], class_dict: dict[str, Any]
    ) -> "TopologyType":
        """TopologyError (a ValueError) if the topology cannot run."""
        if any(isinstance(base, TopologyType) for base in bases):
            members: dict[str, Any] = {}
            for base in reversed(bases):
                members.update(getattr(base, "_members", {}))
            members.update(class_dict)
            class_dict.update(mcs.init_topology(classname, members))
        return type.__new__(mcs, classname, bases, class_dict)

    @classmethod
    def class_dict_to_specs(cls, class_dict: dict[str, Any]) -> dict[str, HeronComponentSpec]:
        """name -> component of a class body; an unnamed component is named after the attribute.

        TopologyError for a name that is used twice.
        """
        specs: list[HeronComponentSpec] = []
        for attribute, spec in class_dict.items():
            if not isinstance(spec, HeronComponentSpec):
                continue
            if spec.name is None:
                spec.name = attribute
            specs.append(spec)
        names = [str(spec.name) for spec in specs]
        for name in names:
            if names.count(name) > 1:
                raise TopologyError(
                    f"component name {name!r} is used {names.count(name)} times; names are unique"
                )
        return dict(zip(names, specs, strict=True))

    @classmethod
    def class_dict_to_topo_config(cls, class_dict: dict[str, Any]) -> dict[str, Any]:
        """The defaults and the class's `config` over them, as Heron writes values down."""
        return {**cls.DEFAULT_TOPOLOGY_CONFIG, **cls._sanitize_config(_config_of(class_dict))}

    @staticmethod
    def _sanitize_config(custom_config: Any) -> dict[str, Any]:
        check_config("topology", custom_config)
        return {key: heron_value(value) for key, value in custom_config.items()}

    @classmethod
    def add_spout_specs(
        cls, spec: HeronComponentSpec, spout_specs: dict[str, ComponentSpec]
    ) -> None:
        """Add a spout; TopologyError without outputs, or with inputs."""
        _add_checked(spec, spout_specs)

    @classmethod
    def add_bolt_specs(cls, spec: HeronComponentSpec, bolt_specs: dict[str, ComponentSpec]) -> None:
        """Add a bolt; TopologyError without inputs."""
        _add_checked(spec, bolt_specs)

    @classmethod
    def init_topology(cls, classname: str, class_dict: dict[str, Any]) -> dict[str, Any]:
        """Attributes added to the class; TopologyError if the topology cannot run."""
        specs = cls.class_dict_to_specs(class_dict)
        components: dict[str, ComponentSpec] = {}
        for spec in specs.values():
            add = cls.add_spout_specs if spec.is_spout else cls.add_bolt_specs
            add(spec, components)
        options = cls._options()
        name = options.get(_OPTION_NAME, classname)
        config = _config_of(class_dict)
        if _OPTION_STATE in options:
            config.setdefault(core_config.INITIAL_STATE, options[_OPTION_STATE])
        topology = TopologySpec(name, tuple(components.values()), arriving_config(config))
        validation.check(topology)
        return {
            "topology_name": name,
            "topology_id": name + os.urandom(16).hex(),
            "topologydefn_tmpdir": options.get(_OPTION_DIRECTORY),
            "heron_runtime_options": options,
            "_topo_config": cls.class_dict_to_topo_config(class_dict),
            "_heron_specs": list(specs.values()),
            "_members": _members_of(class_dict),
            "_topology_spec": topology,
        }

    @classmethod
    def get_topology_config_protobuf(cls, class_dict: dict[str, Any]) -> Any:
        """The config of a class body as a `topology_pb2.Config`."""
        from heron_api.proto.definition import config_message

        return config_message(cls.class_dict_to_topo_config(class_dict))

    @property
    def protobuf_topology(cls) -> Any:
        """The topology as heronpy's definition, a `topology_pb2.Topology`; made when asked for."""
        from heron_api.proto.definition import topology_message

        return topology_message(cls)

    @property
    def _protobuf_spouts(cls) -> dict[str, Any]:
        return _messages_of(cls, is_spout=True)

    @property
    def _protobuf_bolts(cls) -> dict[str, Any]:
        return _messages_of(cls, is_spout=False)

    @classmethod
    def _options(cls) -> dict[str, str]:
        return cls.get_heron_options_from_env() if _OPTIONS_VARIABLE in os.environ else {}

    @staticmethod
    def get_heron_options_from_env() -> dict[str, str]:
        """The options of heronpy's submitter: HERON_OPTIONS="key=value,key=value", %%%% a blank.

        RuntimeError if the variable is not set (nothing of ours needs it), ValueError for a part
        without "=".
        """
        raw = os.environ.get(_OPTIONS_VARIABLE)
        if raw is None:
            raise RuntimeError(f"environment variable {_OPTIONS_VARIABLE} is not set")
        options = {}
        for part in raw.replace(_BLANK, " ").split(","):
            key, equals, value = part.partition("=")
            if not equals:
                raise TopologyError(f"{_OPTIONS_VARIABLE}: {part!r} must be key=value")
            options[key] = value
        return options


def _messages_of(topology: Any, is_spout: bool) -> dict[str, Any]:
    specs = topology._heron_specs
    return {each.name: each.get_protobuf() for each in specs if each.is_spout is is_spout}


def _members_of(class_dict: dict[str, Any]) -> dict[str, Any]:
    """Components and config of a class body, inherited by topologies derived from the class."""
    specs = {key: each for key, each in class_dict.items() if isinstance(each, HeronComponentSpec)}
    return {**specs, "config": _config_of(class_dict)}


def _config_of(class_dict: dict[str, Any]) -> dict[str, Any]:
    config = class_dict.get("config")
    if isinstance(config, HeronComponentSpec):
        raise TopologyError(
            "a component must not be called 'config', that is the topology's config"
        )
    if config is None:
        return {}
    check_config("topology", config)
    return dict(config)


def _add_checked(spec: HeronComponentSpec, components: dict[str, ComponentSpec]) -> None:
    component = spec.to_spec()
    for problem in validation.shape_problems(component):
        raise TopologyError(f"{problem} ({spec.python_class_path})")
    components[component.name] = component


class Topology(metaclass=TopologyType):
    """Base of topologies: each attribute that is a spec is a component, named as the attribute.

        class WordCount(Topology):
            config = {"topology.reliability.mode": "ATLEAST_ONCE"}

            words = Words.spec()
            count = Count.spec(par=2, inputs={words: Grouping.fields("word")})

    The class is checked when it is defined; a mistake raises TopologyError. Start it with
    `heronpy run FILE`. A class derived from a topology inherits its components and config.
    """

    config: dict[str, Any] = {}
    topology_name: str
    topology_id: str
    topologydefn_tmpdir: str | None
    heron_runtime_options: dict[str, str]
    _topo_config: dict[str, Any]
    _heron_specs: list[HeronComponentSpec]
    _members: dict[str, Any]
    _topology_spec: TopologySpec

    @classmethod
    def to_spec(cls) -> TopologySpec:
        """The topology as the engine's value."""
        if cls is Topology:
            raise TopologyError("Topology itself is not a topology: define a class derived from it")
        direct_run.used()
        return cls._topology_spec

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == "__main__":
            direct_run.defined(cls.__name__)

    @classmethod
    def write(cls) -> None:
        """Hand the topology to the loading program, or write NAME.defn as in Heron.

        The JSON file goes to the directory in HERON_OPTIONS. Without a loading program and
        HERON_OPTIONS, `python FILE` runs the topology in the foreground like `heronpy run FILE`
        and does not return; a prompt or notebook runs to the end, and a non-zero exit code
        raises HeronError. UsageError if Python was started in any other way.
        """
        if cls is Topology:
            raise TopologyError("Topology itself is not a topology: define a class derived from it")
        _submit(cls)


def _submit(topology: type[Topology]) -> None:
    direct_run.used()
    spec = topology._topology_spec
    if submissions.record_submission(spec):
        return
    directory = topology.topologydefn_tmpdir
    if directory is None and interactive_run.is_interactive():
        interactive_run.run(spec)
        return
    if directory is None:
        direct_run.run(spec.name)
    with open(os.path.join(directory, f"{spec.name}.defn"), "w", encoding="utf-8") as file:
        json.dump(topology_to_json(spec), file, indent=1)


class TopologyBuilder:
    """Makes a topology step by step.

    if __name__ == "__main__":
        builder = TopologyBuilder("WordCount")
        words = builder.add_spout("words", Words, par=1)
        builder.add_bolt("count", Count, par=2, inputs={words: Grouping.fields("word")})
        builder.build_and_submit()
    """

    def __init__(self, name: str) -> None:
        """TypeError for a name that is "Topology" or not a string."""
        if not isinstance(name, str) or name == "Topology":
            raise WrongArgumentError(
                f"name of a topology must be a string other than 'Topology', not {name!r}"
            )
        self.topology_name = name
        self._specs: dict[str, HeronComponentSpec] = {}
        self._topology_config: dict[str, Any] = {}

    def add_spec(self, *specs: HeronComponentSpec) -> None:
        """Add components returned by `spec(name=...)`.

        TypeError for another type, TopologyError without a name, for the name "config", and for a
        name that is used already.
        """
        for spec in specs:
            if not isinstance(spec, HeronComponentSpec):
                raise WrongArgumentError(f"add_spec takes the result of spec(), not {spec!r}")
            if spec.name is None:
                raise TopologyError(f"{spec!r} has no name: give it one with spec(name=...)")
            if spec.name == "config":
                raise TopologyError("a component must not be called 'config': the name is reserved")
            if spec.name in self._specs:
                raise TopologyError(
                    f"component name {spec.name!r} is used already; names are unique"
                )
            self._specs[spec.name] = spec

    def add_spout(
        self,
        name: str,
        spout_cls: Any,
        par: int,
        config: dict[str, Any] | None = None,
        optional_outputs: Any = None,
    ) -> HeronComponentSpec:
        """Add a spout of class `spout_cls` with `par` instances; the result is usable as an
        input."""
        spec: HeronComponentSpec = spout_cls.spec(
            name=name, par=par, config=config, optional_outputs=optional_outputs
        )
        self.add_spec(spec)
        return spec

    def add_bolt(
        self,
        name: str,
        bolt_cls: Any,
        par: int,
        inputs: Any,
        config: dict[str, Any] | None = None,
        optional_outputs: Any = None,
    ) -> HeronComponentSpec:
        """Add a bolt of class `bolt_cls` with `par` instances; `inputs` as in `Bolt.spec`."""
        spec: HeronComponentSpec = bolt_cls.spec(
            name=name, inputs=inputs, par=par, config=config, optional_outputs=optional_outputs
        )
        self.add_spec(spec)
        return spec

    def set_config(self, config: dict[str, Any]) -> None:
        """Replace the config of the topology; TypeError unless a dict with string keys."""
        check_config("topology", config)
        self._topology_config = config

    def get_config(self) -> dict[str, Any]:
        """The config of the latest `set_config`; empty before."""
        return self._topology_config

    def _construct_topo_class_dict(self) -> dict[str, Any]:
        return {**self._specs, "config": self._topology_config}

    def build_and_submit(self) -> None:
        """Check and submit the topology, like `Topology.write`; TopologyError if invalid."""
        topology = TopologyType(self.topology_name, (Topology,), self._construct_topo_class_dict())
        _submit(cast("type[Topology]", topology))
