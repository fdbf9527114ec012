"""Topologies as classes (streamparse.dsl.topology)."""

from typing import Any

from heron_api.errors import WrongArgumentError
from heron_core.errors import TopologyError
from heron_core.thrift.structs import Reader
from heronpy_compat.streamparse.dsl import flux
from heronpy_compat.streamparse.dsl.bolt import JavaBoltSpec, ShellBoltSpec
from heronpy_compat.streamparse.dsl.checks import (
    check_input,
    checked_config,
    is_component,
    source_name,
)
from heronpy_compat.streamparse.dsl.component import ComponentSpec
from heronpy_compat.streamparse.dsl.spout import JavaSpoutSpec, ShellSpoutSpec
from heronpy_compat.streamparse.thrift import Bolt, SpoutSpec, StormTopology

BOLTS = (JavaBoltSpec, ShellBoltSpec)
SPOUTS = (JavaSpoutSpec, ShellSpoutSpec)


class TopologyType(type):
    """Metaclass of topologies: names the components and checks their connections."""

    def __new__(
        mcs, classname: str, bases: tuple[type, ...], class_dict: dict[str, Any]
    ) -> "TopologyType":
        """ValueError, TypeError or KeyError if the topology cannot run; all are TopologyErrors."""
        members: dict[str, Any] = {}
        for base in reversed(bases):
            members.update(getattr(base, "_members", {}))
        members.update(class_dict)
        specs = mcs.class_dict_to_specs(members)
        bolts: dict[str, Bolt] = {}
        spouts: dict[str, SpoutSpec] = {}
        for spec in specs.values():
            mcs._add(spec, bolts, spouts)
        for spec in specs.values():
            mcs.clean_spec_inputs(spec, specs)
        is_base = not any(isinstance(base, TopologyType) for base in bases)
        if not spouts and not is_base:
            raise TopologyError(
                f"A Topology requires at least one Spout: {classname} has none; add a spout as "
                "in words = WordSpout.spec()"
            )
        class_dict.update(
            config=checked_config(classname, members.get("config")),
            specs=list(specs.values()),
            thrift_bolts=bolts,
            thrift_spouts=spouts,
            thrift_topology=StormTopology(spouts=spouts, bolts=bolts, state_spouts={}),
            _members=_members_of(members),
        )
        return type.__new__(mcs, classname, bases, class_dict)

    def __repr__(cls) -> str:
        names = ", ".join(spec.name for spec in getattr(cls, "specs", []))
        return f"<topology {cls.__name__}: {names}>"

    @classmethod
    def class_dict_to_specs(cls, class_dict: dict[str, Any]) -> dict[str, ComponentSpec]:
        """name -> component of a class body; an unnamed component is named after the attribute."""
        specs: dict[str, ComponentSpec] = {}
        for attribute, spec in class_dict.items():
            if is_component(spec):
                kind = type(spec).__name__
                raise WrongArgumentError(
                    "Topology classes should have ComponentSpec attributes, but"
                    f" {attribute} is a {kind} itself: write {attribute} = {kind}.spec(...)"
                )
            if not isinstance(spec, ComponentSpec):
                continue
            if spec.name is None:
                spec.name = attribute
            if spec.name in specs:
                raise TopologyError(
                    f"Duplicate component name: {spec.name} ({spec.component_cls.__name__} and"
                    f" {specs[spec.name].component_cls.__name__}); names are unique"
                )
            specs[spec.name] = spec
        return specs

    @classmethod
    def _add(cls, spec: Any, bolts: dict[str, Bolt], spouts: dict[str, SpoutSpec]) -> None:
        if isinstance(spec, BOLTS):
            cls.add_bolt_spec(spec, bolts)
        elif isinstance(spec, SPOUTS):
            cls.add_spout_spec(spec, spouts)
        else:
            raise WrongArgumentError(f"Specifications should be of bolts or spouts, not {spec!r}")

    @classmethod
    def add_bolt_spec(cls, spec: Any, bolt_specs: dict[str, Bolt]) -> None:
        """Add a bolt; ValueError without inputs."""
        if not spec.inputs:
            raise TopologyError(
                f"{spec.label} requires at least one input, because it is a Bolt: add an input "
                "with spec(inputs=[words])"
            )
        bolt_specs[spec.name] = Bolt(bolt_object=spec.component_object, common=spec.common)

    @classmethod
    def add_spout_spec(cls, spec: Any, spout_specs: dict[str, SpoutSpec]) -> None:
        """Add a spout; ValueError without outputs."""
        if not spec.outputs:
            raise TopologyError(
                f"{spec.label} requires at least one output, because it is a Spout: list its"
                ' fields, as in outputs = ["word"]'
            )
        spout_specs[spec.name] = SpoutSpec(spout_object=spec.component_object, common=spec.common)

    @classmethod
    def clean_spec_inputs(cls, spec: Any, specs: dict[str, ComponentSpec]) -> None:
        """Replace specs by names in the inputs' stream ids; KeyError or ValueError for an invalid
        input."""
        # A stream's hash changes with its component's name, so each is put in again.
        cleaned: dict[Any, Any] = {}
        for stream_id, grouping in spec.inputs.items():
            stream_id.componentId = source_name(spec, stream_id.componentId)
            if stream_id in cleaned:
                raise TopologyError(
                    f"{spec.label} reads {stream_id.componentId}:{stream_id.streamId} twice;"
                    " give each input one grouping"
                )
            check_input(spec, stream_id, grouping, specs)
            cleaned[stream_id] = grouping
        spec.inputs.clear()
        spec.inputs.update(cleaned)


def _members_of(members: dict[str, Any]) -> dict[str, Any]:
    """Components and config of a class body, inherited by topologies derived from the class."""
    specs = {key: each for key, each in members.items() if isinstance(each, ComponentSpec)}
    return {**specs, "config": members.get("config")}


class Topology(metaclass=TopologyType):
    """Base of topologies: each attribute that is a spec is a component, named as the attribute.

        class WordCount(Topology):
            word_spout = WordSpout.spec()
            count_bolt = WordCountBolt.spec(inputs={word_spout: Grouping.fields("word")}, par=2)

    The class is checked when it is defined. A class derived from a topology inherits its
    components and config.
    """

    config: dict[str, Any]
    specs: list[ComponentSpec]
    thrift_bolts: dict[str, Bolt]
    thrift_spouts: dict[str, SpoutSpec]
    thrift_topology: StormTopology

    @classmethod
    def write(cls, stream: Any) -> None:
        """Write the topology for Storm's Nimbus, to a binary stream or to a file of that name."""
        if isinstance(stream, str):
            with open(stream, "wb") as file:
                file.write(cls.thrift_topology.write())
        else:
            stream.write(cls.thrift_topology.write())

    @classmethod
    def read(cls, stream: Any) -> None:
        """The inverse of `write`; `specs` are not serialised and therefore empty afterwards."""
        if isinstance(stream, str):
            with open(stream, "rb") as file:
                data = file.read()
        else:
            data = stream.read()
        cls.thrift_topology = StormTopology.read(Reader(data))
        cls.thrift_bolts = cls.thrift_topology.bolts
        cls.thrift_spouts = cls.thrift_topology.spouts
        cls.specs = []

    @classmethod
    def to_flux_dict(cls, name: str) -> dict[str, Any]:
        """The topology in the form of Storm Flux YAML."""
        return flux.to_flux_dict(name, cls.specs, BOLTS)
