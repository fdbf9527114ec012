"""Sketches of Apache DataSketches as monoids (extra `sketches`)."""

from heron_api.state.sketches import CountMin as CountMin
from heron_api.state.sketches import FrequentItems as FrequentItems
from heron_api.state.sketches import HyperLogLog as HyperLogLog
from heron_api.state.sketches import Kll as Kll
from heron_api.state.sketches import Theta as Theta
from heron_api.state.sketches import ThetaValue as ThetaValue
