import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** So many sentences, each until it is acked; its id is its number. */
public class Sentences extends BaseRichSpout {
    private static final String[] TEXTS = {
        "the cow jumped over the moon", "an apple a day keeps the doctor away",
        "four score and seven years ago", "snow white and the seven dwarfs"};

    private final int count;
    private int next;
    private int acked;
    private final java.util.ArrayDeque<Integer> again = new java.util.ArrayDeque<>();
    private SpoutOutputCollector collector;

    public Sentences(int count) {
        this.count = count;
    }

    @Override
    public void open(
            Map<String, Object> config, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void nextTuple() {
        if (!again.isEmpty()) {
            emit(again.poll());
        } else if (next < count) {
            emit(next++);
        }
    }

    private void emit(int number) {
        collector.emit(new Values(TEXTS[number % TEXTS.length]), number);
    }

    @Override
    public void ack(Object id) {
        acked++;
    }

    @Override
    public void fail(Object id) {
        again.add((Integer) id);
    }

    public boolean isFinished() {
        return acked == count;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("sentence"));
    }
}
