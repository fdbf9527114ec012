import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * The topology of benchmarks/topologies/word_count.py in Storm's local mode: one JVM, Storm's
 * defaults, no serialisation between its threads.
 *
 * <p>The pool of sentences comes on standard input. Arguments: warm-up-sentences sentences
 * acked(true|false) pending. Prints the mark "first" when the first sentence after the warm-up is
 * emitted and "last" when all words are counted (and acked), then the counts of all, and ends.
 */
public final class WordCount {
    static final int WORDS_IN_SENTENCE = 10;
    static final LongAdder COUNTED = new LongAdder();
    static final LongAdder ACKED = new LongAdder();
    static final LongAdder FAILED = new LongAdder();
    static final List<Map<String, Long>> COUNTS = Collections.synchronizedList(new ArrayList<>());
    static List<String> pool;

    /** The pool round and round, as often as wanted. */
    public static final class Sentences extends BaseRichSpout {
        private final long warmUp;
        private final long total;
        private final boolean tracked;
        private SpoutOutputCollector collector;
        private long number;

        Sentences(long warmUp, long total, boolean tracked) {
            this.warmUp = warmUp;
            this.total = total;
            this.tracked = tracked;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector to) {
            collector = to;
        }

        @Override
        public void nextTuple() {
            if (number == total) {
                return;
            }
            if (number == warmUp) {
                mark("first");
            }
            Values sentence = new Values(pool.get((int) (number % pool.size())));
            number++;
            if (tracked) {
                collector.emit(sentence, number);
            } else {
                collector.emit(sentence);
            }
        }

        @Override
        public void ack(Object id) {
            ACKED.increment();
        }

        @Override
        public void fail(Object id) {
            FAILED.increment();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("sentence"));
        }
    }

    /** Sentences into words. */
    public static final class Split extends BaseRichBolt {
        private OutputCollector collector;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector to) {
            collector = to;
        }

        @Override
        public void execute(Tuple tuple) {
            for (String word : tuple.getString(0).split(" ")) {
                collector.emit(tuple, new Values(word));
            }
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    /** How often each word came. */
    public static final class Count extends BaseRichBolt {
        private OutputCollector collector;
        private Map<String, Long> counts;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector to) {
            collector = to;
            counts = new HashMap<>();
            COUNTS.add(counts);
        }

        @Override
        public void execute(Tuple tuple) {
            counts.merge(tuple.getString(0), 1L, Long::sum);
            COUNTED.increment();
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {}
    }

    private static void mark(String name) {
        System.out.printf("{\"mark\": \"%s\", \"at\": %f}%n", name, System.nanoTime() / 1e9);
        System.out.flush();
    }

    public static void main(String[] words) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        pool = lines.lines().collect(Collectors.toList());
        long warmUp = Long.parseLong(words[0]);
        long total = warmUp + Long.parseLong(words[1]);
        boolean tracked = Boolean.parseBoolean(words[2]);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", new Sentences(warmUp, total, tracked), 1);
        builder.setBolt("split", new Split(), 2).shuffleGrouping("sentences");
        builder.setBolt("count", new Count(), 2).fieldsGrouping("split", new Fields("word"));
        Config config = new Config();
        config.setMaxSpoutPending(Integer.parseInt(words[3]));
        config.setNumAckers(tracked ? 1 : 0);
        LocalCluster cluster = new LocalCluster();
        cluster.submitTopology("word-count", config, builder.createTopology());
        while (COUNTED.sum() < total * WORDS_IN_SENTENCE || (tracked && ACKED.sum() < total)) {
            if (FAILED.sum() > 0) {
                throw new IllegalStateException("a tuple failed");
            }
            Thread.sleep(1);
        }
        mark("last");
        Map<String, Long> all = new HashMap<>();
        COUNTS.forEach(each -> each.forEach((word, number) -> all.merge(word, number, Long::sum)));
        String found = all.entrySet().stream()
                .map(each -> "\"" + each.getKey() + "\": " + each.getValue())
                .collect(Collectors.joining(", "));
        System.out.println("{\"counts\": {" + found + "}}");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
