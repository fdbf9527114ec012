"""streamparse.spout: what is in streamparse.storm.spout."""

from heronpy_compat.streamparse.storm.spout import *  # noqa: F403
