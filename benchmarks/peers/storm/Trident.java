import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.trident.TridentTopology;
import org.apache.storm.trident.operation.BaseFunction;
import org.apache.storm.trident.operation.TridentCollector;
import org.apache.storm.trident.operation.builtin.Count;
import org.apache.storm.trident.spout.IBatchSpout;
import org.apache.storm.trident.testing.MemoryMapState;
import org.apache.storm.trident.tuple.TridentTuple;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/**
 * Trident's word count in one JVM: batches of SIZE sentences, whose words are counted in a state in
 * memory. Prints the seconds between the commits of batch FIRST and batch LAST.
 */
public final class Trident {
    private static final int WORDS = 1000;

    /** A batch is a function of its id. */
    public static final class Sentences implements IBatchSpout {
        private final int size;
        private final long first;
        private final long last;
        private transient long began;

        Sentences(int size, long first, long last) {
            this.size = size;
            this.first = first;
            this.last = last;
        }

        @Override
        public void open(Map<String, Object> config, TopologyContext context) {
        }

        @Override
        public void emitBatch(long batch, TridentCollector collector) {
            for (long number = batch * size; number < (batch + 1) * size; number++) {
                StringBuilder sentence = new StringBuilder();
                for (long word = 10 * number; word < 10 * number + 10; word++) {
                    sentence.append(word > 10 * number ? " word" : "word").append(word % WORDS);
                }
                collector.emit(new Values(sentence.toString()));
            }
        }

        @Override
        public void ack(long batch) {
            if (batch == first) {
                began = System.nanoTime();
            } else if (batch == last) {
                System.out.println("{\"elapsed\":" + (System.nanoTime() - began) / 1e9 + "}");
                System.exit(0);
            }
        }

        @Override
        public void close() {
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            Config config = new Config();
            config.setMaxTaskParallelism(1);
            return config;
        }

        @Override
        public Fields getOutputFields() {
            return new Fields("sentence");
        }
    }

    /** The words of a sentence. */
    public static final class Split extends BaseFunction {
        @Override
        public void execute(TridentTuple tuple, TridentCollector collector) {
            for (String word : tuple.getString(0).split(" ")) {
                collector.emit(new Values(word));
            }
        }
    }

    public static void main(String[] words) throws Exception {
        int size = Integer.parseInt(words[0]);
        Sentences spout = new Sentences(size, Long.parseLong(words[1]), Long.parseLong(words[2]));
        TridentTopology topology = new TridentTopology();
        topology.newStream("sentences", spout)
                .shuffle()
                .each(new Fields("sentence"), new Split(), new Fields("word"))
                .project(new Fields("word"))
                .parallelismHint(2)
                .groupBy(new Fields("word"))
                .persistentAggregate(new MemoryMapState.Factory(), new Count(), new Fields("count"))
                .parallelismHint(2);
        Config config = new Config();
        config.setNumWorkers(1);
        config.setMaxSpoutPending(3);
        config.put("topology.trident.batch.emit.interval.millis", 1);
        try (LocalCluster cluster = new LocalCluster()) {
            cluster.submitTopology("trident", config, topology.build());
            Thread.sleep(Long.MAX_VALUE);
        }
    }
}
