"""Storm's ReachTopology: how many people were exposed to a URL, computed in parallel on request.

heronpy drpc
heronpy run examples/reach.py
curl -d foo.com/blog/1 http://127.0.0.1:3774/drpc/reach
"""

from heronpy_compat.drpc import BaseBasicBolt, BaseBatchBolt, LinearDRPCTopologyBuilder

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


class GetTweeters(BaseBasicBolt):
    outputs = ["id", "tweeter"]

    def execute(self, tup, collector):
        request_id, url = tup.values
        for tweeter in TWEETERS.get(url, ()):
            collector.emit([request_id, tweeter])


class GetFollowers(BaseBasicBolt):
    outputs = ["id", "follower"]

    def execute(self, tup, collector):
        request_id, tweeter = tup.values
        for follower in FOLLOWERS.get(tweeter, ()):
            collector.emit([request_id, follower])


class PartialUniquer(BaseBatchBolt):
    outputs = ["id", "partial-count"]

    def prepare(self, conf, context, collector, batch_id):
        self.collector, self.id, self.followers = collector, batch_id, set()

    def execute(self, tup):
        self.followers.add(tup.values[1])

    def finish_batch(self):
        self.collector.emit([self.id, len(self.followers)])


class CountAggregator(BaseBatchBolt):
    outputs = ["id", "reach"]

    def prepare(self, conf, context, collector, batch_id):
        self.collector, self.id, self.count = collector, batch_id, 0

    def execute(self, tup):
        self.count += tup.values[1]

    def finish_batch(self):
        self.collector.emit([self.id, self.count])


def construct():
    builder = LinearDRPCTopologyBuilder("reach")
    builder.add_bolt(GetTweeters, 2)
    builder.add_bolt(GetFollowers, 3).shuffle_grouping()
    builder.add_bolt(PartialUniquer, 3).fields_grouping("id", "follower")
    builder.add_bolt(CountAggregator, 2).fields_grouping("id")
    return builder


if __name__ == "__main__":
    construct().create_remote_topology("Reach").build_and_submit()
