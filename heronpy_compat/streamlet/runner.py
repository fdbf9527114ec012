"""Submits a topology of streamlets (heronpy.streamlet.runner)."""

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.errors import StreamletError


class Runner:
    """Makes a topology of a builder's streamlets and submits it."""

    def run(self, name: str, config: Config, builder: Builder) -> None:
        """Submit the topology `name`, as `TopologyBuilder.build_and_submit` does.

        RuntimeError for arguments of the wrong type.
        """
        if not isinstance(name, str):
            raise StreamletError(f"the name of a topology must be a string, not {name!r}")
        if not isinstance(config, Config):
            raise StreamletError(f"config must be a heronpy.streamlet.config.Config: {config!r}")
        if not isinstance(builder, Builder):
            raise StreamletError(
                f"builder must be a heronpy.streamlet.builder.Builder: {builder!r}"
            )
        topology = TopologyBuilder(name)
        topology.set_config(config._api_config)
        builder.build(topology)
        topology.build_and_submit()
