import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * The topology of benchmarks/topologies/many_instances.py in Storm's local mode: one JVM, Storm's
 * defaults, no serialisation between its threads.
 *
 * <p>Arguments: spouts mids sinks tuples-a-call SHUFFLE|ALL acked(true|false) pending
 * warm-up-seconds measured-seconds. Prints the marks "first" and "last" as JSON lines, then the
 * counts between them, and ends.
 */
public final class ManyInstances {
    static final int KEYS = 10_000;
    static final int SAMPLED = 64;
    static final int BUCKETS_PER_DOUBLING = 12;
    static final int BUCKETS = 320;
    /** Storm's default supervisor and nimbus come up within seconds; 200 executors take longer. */
    static final long START_SECONDS_MAX = 90;

    static final LongAdder ACKED = new LongAdder();
    static final LongAdder FAILED = new LongAdder();
    static final LongAdder EXECUTED = new LongAdder();
    static final AtomicLongArray LATENCIES = new AtomicLongArray(BUCKETS);

    /** There always is a next number. */
    public static final class Numbers extends BaseRichSpout {
        private final int perCall;
        private final boolean tracked;
        private final Map<Long, Long> emittedAt = new HashMap<>();
        private SpoutOutputCollector collector;
        private long number;

        Numbers(int perCall, boolean tracked) {
            this.perCall = perCall;
            this.tracked = tracked;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector to) {
            collector = to;
        }

        @Override
        public void nextTuple() {
            for (int each = 0; each < perCall; each++) {
                number++;
                if (!tracked) {
                    collector.emit(new Values(number % KEYS));
                    continue;
                }
                if (number % SAMPLED == 0) {
                    emittedAt.put(number, System.nanoTime());
                }
                collector.emit(new Values(number % KEYS), number);
            }
        }

        @Override
        public void ack(Object id) {
            ACKED.increment();
            Long began = (Long) id % SAMPLED == 0 ? emittedAt.remove(id) : null;
            if (began != null) {
                double micros = (System.nanoTime() - began) / 1e3;
                int bucket = (int) (BUCKETS_PER_DOUBLING * Math.log(1 + micros) / Math.log(2));
                LATENCIES.incrementAndGet(Math.min(BUCKETS - 1, bucket));
            }
        }

        @Override
        public void fail(Object id) {
            emittedAt.remove(id);
            FAILED.increment();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    /** Passes numbers on. */
    public static final class Mid extends BaseRichBolt {
        private OutputCollector collector;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector to) {
            collector = to;
        }

        @Override
        public void execute(Tuple tuple) {
            collector.emit(tuple, new Values(tuple.getValue(0)));
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    /** Counts what arrives. */
    public static final class Sink extends BaseRichBolt {
        private OutputCollector collector;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector to) {
            collector = to;
        }

        @Override
        public void execute(Tuple tuple) {
            EXECUTED.increment();
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {}
    }

    private static List<Long> counts() {
        List<Long> found = new ArrayList<>(List.of(ACKED.sum(), FAILED.sum(), EXECUTED.sum()));
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            found.add(LATENCIES.get(bucket));
        }
        return found;
    }

    private static void mark(String name) {
        System.out.printf("{\"mark\": \"%s\", \"at\": %f}%n", name, System.nanoTime() / 1e9);
        System.out.flush();
    }

    public static void main(String[] words) throws Exception {
        int spouts = Integer.parseInt(words[0]);
        int perCall = Integer.parseInt(words[3]);
        boolean tracked = Boolean.parseBoolean(words[5]);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers(perCall, tracked), spouts);
        BoltDeclarer mid = builder.setBolt("mid", new Mid(), Integer.parseInt(words[1]));
        if (words[4].equals("ALL")) {
            mid.allGrouping("numbers");
        } else {
            mid.shuffleGrouping("numbers");
        }
        builder.setBolt("sink", new Sink(), Integer.parseInt(words[2]))
                .fieldsGrouping("mid", new Fields("number"));
        Config config = new Config();
        config.setMaxSpoutPending(Integer.parseInt(words[6]));
        config.setNumAckers(tracked ? 1 : 0);
        LocalCluster cluster = new LocalCluster();
        cluster.submitTopology("many-instances", config, builder.createTopology());
        long deadline = System.nanoTime() + START_SECONDS_MAX * 1_000_000_000L;
        while (EXECUTED.sum() == 0 && System.nanoTime() < deadline) {
            Thread.sleep(100);
        }
        Thread.sleep((long) (Double.parseDouble(words[7]) * 1000));
        List<Long> before = counts();
        mark("first");
        Thread.sleep((long) (Double.parseDouble(words[8]) * 1000));
        List<Long> after = counts();
        mark("last");
        List<Long> difference = new ArrayList<>();
        for (int each = 0; each < after.size(); each++) {
            difference.add(after.get(each) - before.get(each));
        }
        System.out.println("{\"counts\": " + difference + "}");
        System.out.flush();
        // Nothing of it is kept, and a cluster under full load takes long to end itself.
        Runtime.getRuntime().halt(0);
    }
}
