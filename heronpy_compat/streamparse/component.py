"""streamparse.component: what is in streamparse.storm.component."""

from heronpy_compat.streamparse.storm.component import *  # noqa: F403
