"""heronpy.connectors.two_phase."""

from heron_connectors.two_phase import TwoPhaseSink as TwoPhaseSink
from heron_connectors.two_phase import WriteAheadSink as WriteAheadSink
