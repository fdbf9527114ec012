"""One of everything that both packages must understand alike."""

from sp_components import Count, Events, Orders, Script, Store, Words
from streamparse import Grouping, JavaBolt, ShellSpout, Topology
from streamparse.thrift import GlobalStreamId


class Everything(Topology):
    config = {"topology.workers": 2, "topology.message.timeout.secs": None, "own": [1, "a"]}

    words = Words.spec(par=4)
    events = Events.spec(name="all-events")
    orders = Orders.spec(config={"a": None, "b": 1.5})
    feed = ShellSpout.spec(command="node", script="feed.js --fast 'two words'", outputs=["line"])
    by_field = Count.spec(inputs={words: Grouping.fields("word"), events["errors"]: Grouping.ALL})
    by_list = Count.spec(inputs={words: Grouping.fields(["word", "length"])})
    global_ = Count.spec(inputs={words: Grouping.GLOBAL})
    shuffled = Store.spec(inputs=[words, events, events["errors"], orders])
    single = Store.spec(inputs=words, par=True)
    local = Store.spec(inputs={words: Grouping.LOCAL_OR_SHUFFLE, events: Grouping.NONE})
    direct = Store.spec(inputs={orders: Grouping.DIRECT})
    cycle = Count.spec(inputs={GlobalStreamId("script", "default"): Grouping.SHUFFLE})
    script = Script.spec(command="./bolt", script="", inputs=[cycle])
    inner = Count.Inner.spec(inputs=[words])
    printer = JavaBolt.spec(
        full_class_name="org.apache.storm.starter.bolt.PrinterBolt", args_list=[], inputs=[words]
    )
    partial = Store.spec(
        inputs={
            words: Grouping.custom_object("org.apache.storm.grouping.PartialKeyGrouping", []),
            events: Grouping.custom_object(
                "org.apache.storm.grouping.PartialKeyGrouping", ["user-id", "event"]
            ),
        }
    )
    custom = Store.spec(
        inputs={words: Grouping.custom_object("sp_components.ByLength", [3, "short"])}
    )
