"""streamparse.bolt: what is in streamparse.storm.bolt."""

from heronpy_compat.streamparse.storm.bolt import *  # noqa: F403
