import java.util.HashMap;
import java.util.Map;
import org.apache.storm.metric.api.CountMetric;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** As in storm-starter's WordCountTopology, with an Integer count. */
public class WordCount extends BaseRichBolt {
    private final Map<String, Integer> counts = new HashMap<>();
    private OutputCollector collector;
    private CountMetric executed;
    private com.codahale.metrics.Counter words;

    @Override
    public void prepare(
            Map<String, Object> config, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        executed = context.registerMetric("executed", new CountMetric(), 1);
        words = context.registerCounter("words");
        System.out.println("prepared task " + context.getThisTaskId() + " of "
            + context.getComponentTasks(context.getThisComponentId()) + ", reads "
            + context.getThisSources().keySet());
    }

    @Override
    public void execute(Tuple tuple) {
        String word = tuple.getStringByField("word");
        int count = counts.merge(word, 1, Integer::sum);
        executed.incr();
        words.inc();
        collector.emit(tuple, new Values(word, count));
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word", "count"));
    }
}
