"""How many people were exposed to a URL, as a Trident stream of requests over two static states.

    heronpy drpc
    heronpy run examples/storm_starter/trident_reach.py
    curl -d foo.com/blog/1 http://127.0.0.1:3774/drpc/reach

storm-starter's TridentReach; the answer is [[16]].
"""

from heronpy_compat.trident import (
    CombinerAggregator,
    Function,
    MapGet,
    ReadOnlyMapState,
    StateFactory,
    Sum,
    TridentTopology,
)

TWEETERS = {
    "foo.com/blog/1": ["sally", "bob", "tim", "george", "nathan"],
    "engineering.twitter.com/blog/5": ["adam", "david", "sally", "nathan"],
    "tech.backtype.com/blog/123": ["tim", "mike", "john"],
}
FOLLOWERS = {
    "sally": ["bob", "tim", "alice", "adam", "jim", "chris", "jai"],
    "bob": ["sally", "nathan", "jim", "mary", "david", "vivian"],
    "tim": ["alex"],
    "nathan": ["sally", "bob", "adam", "harry", "chris", "vivian", "emily", "jordan"],
    "adam": ["david", "carissa"],
    "mike": ["john", "bob"],
    "john": ["alice", "nathan", "jim", "mike", "bob"],
}


class StaticState(ReadOnlyMapState):
    def __init__(self, table):
        self.table = table

    def multi_get(self, keys):
        return [self.table.get(key[0]) for key in keys]


class StaticFactory(StateFactory):
    def __init__(self, table):
        self.table = table

    def make_state(self, conf, context, partition_index, num_partitions):
        return StaticState(self.table)


class ExpandList(Function):
    def execute(self, tup, collector):
        for item in tup[0] or ():
            collector.emit([item])


class One(CombinerAggregator):
    def init(self, tup):
        return 1

    def combine(self, first, second):
        return 1

    def zero(self):
        return 1


def construct(drpc=None):
    topology = TridentTopology()
    tweeters = topology.newStaticState(StaticFactory(TWEETERS))
    followers = topology.newStaticState(StaticFactory(FOLLOWERS))
    (
        topology.newDRPCStream("reach", drpc)
        .stateQuery(tweeters, "args", MapGet(), "tweeters")
        .each("tweeters", ExpandList(), "tweeter")
        .shuffle()
        .stateQuery(followers, "tweeter", MapGet(), "followers")
        .each("followers", ExpandList(), "follower")
        .groupBy("follower")
        .aggregate(None, One(), "one")
        .aggregate("one", Sum(), "reach")
    )
    return topology


if __name__ == "__main__":
    construct().submit("TridentReach")
