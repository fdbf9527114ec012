import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Does the one wrong thing that its argument names. */
public class Faulty extends BaseRichBolt {
    private final String what;
    private OutputCollector collector;

    public Faulty(String what) {
        this.what = what;
        if (what.equals("constructor")) {
            throw new IllegalArgumentException("no");
        }
    }

    @Override
    public void prepare(
            Map<String, Object> config, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        if (what.equals("prepare")) {
            throw new IllegalStateException("not today");
        } else if (what.equals("exit")) {
            System.exit(3);
        }
    }

    @Override
    public void execute(Tuple tuple) {
        if (what.equals("execute")) {
            throw new IllegalStateException("bad tuple " + tuple.getValue(0));
        } else if (what.equals("value")) {
            collector.emit(tuple, new Values(new java.util.concurrent.atomic.AtomicLong()));
        }
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("value"));
    }
}
