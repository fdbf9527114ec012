"""The number of instances depends on the environment."""

from sp_components import Count, Words
from streamparse import Topology


class First(Topology):
    words = Words.spec(par={"beta": 1, "prod": 6})
    count = Count.spec(inputs=[words], par=2)


class Second(Topology):
    words = Words.spec()
