import java.util.Map;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Counts keys in a state that checkpoints keep. */
public class StatefulCount extends BaseStatefulBolt<KeyValueState<Long, Long>> {
    private KeyValueState<Long, Long> counts;
    private OutputCollector collector;

    @Override
    public void prepare(
            Map<String, Object> config, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void initState(KeyValueState<Long, Long> state) {
        counts = state;
    }

    @Override
    public void execute(Tuple tuple) {
        Long key = tuple.getLong(0);
        long count = counts.get(key, 0L) + 1;
        counts.put(key, count);
        collector.emit(tuple, new Values(key, count));
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("key", "count"));
    }
}
