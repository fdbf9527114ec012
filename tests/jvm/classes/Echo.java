import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Emits a value as it came, its class's name, and the tasks that the one before went to. */
public class Echo extends BaseRichBolt {
    private OutputCollector collector;
    private TopologyContext context;

    @Override
    public void prepare(
            Map<String, Object> config, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.context = context;
    }

    @Override
    public void execute(Tuple tuple) {
        Object value = tuple.getValueByField("value");
        String kind = value == null ? "null" : value.getClass().getSimpleName();
        List<Integer> tasks = collector.emit(tuple, new Values(value, kind));
        int reader = context.getComponentTasks("sink").get(0);
        if (!tasks.equals(List.of(reader))) {
            throw new IllegalStateException("it went to " + tasks + ", not to " + reader);
        }
        collector.emitDirect(reader, "direct", List.of(tuple), new Values(new ArrayList<>(
            tuple.getFields().toList()), tuple.getSourceComponent()));
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("value", "kind"));
        declarer.declareStream("direct", true, new Fields("value", "kind"));
    }
}
