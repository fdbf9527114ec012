"""heronpy.proto.topology_pb2: its messages, enums and their values."""

from heron_api.proto.topology_pb2 import *  # noqa: F403 (an enum's values are constants as well)
