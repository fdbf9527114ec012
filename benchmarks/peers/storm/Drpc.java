import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.LocalDRPC;
import org.apache.storm.drpc.LinearDRPCTopologyBuilder;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Requests to a function of one bolt by LocalDRPC: WARM_UP_CALLS, then pairs of callers at once and
 * calls of each. Prints a line of JSON for each pair.
 */
public final class Drpc {
    /** Adds an exclamation mark. */
    public static final class Exclaim extends BaseBasicBolt {
        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            collector.emit(new Values(tuple.getValue(0), tuple.getString(1) + "!"));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("id", "result"));
        }
    }

    private static double load(LocalDRPC drpc, int callers, int calls, ConcurrentLinkedQueue<Double> secs)
            throws InterruptedException {
        long began = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        for (int each = 0; each < callers; each++) {
            String name = Integer.toString(each);
            Thread thread = new Thread(() -> {
                for (int call = 0; call < calls; call++) {
                    String text = name + "-" + call;
                    long at = System.nanoTime();
                    String answer;
                    try {
                        answer = drpc.execute("exclamation", text);
                    } catch (Exception error) {
                        throw new IllegalStateException(error);
                    }
                    secs.add((System.nanoTime() - at) / 1e9);
                    if (!answer.equals(text + "!")) {
                        throw new IllegalStateException(text + " is answered by " + answer);
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return (System.nanoTime() - began) / 1e9;
    }

    public static void main(String[] words) throws Exception {
        int warmUp = Integer.parseInt(words[0]);
        LinearDRPCTopologyBuilder builder = new LinearDRPCTopologyBuilder("exclamation");
        builder.addBolt(new Exclaim(), 3);
        Config config = new Config();
        config.setNumWorkers(1);
        try (LocalCluster cluster = new LocalCluster();
                LocalDRPC drpc = new LocalDRPC(cluster.getMetricRegistry());
                LocalCluster.LocalTopology topology =
                        cluster.submitTopology("drpc", config, builder.createLocalTopology(drpc))) {
            for (int at = 1; at < words.length; at += 2) {
                int callers = Integer.parseInt(words[at]);
                int calls = Integer.parseInt(words[at + 1]);
                load(drpc, callers, warmUp, new ConcurrentLinkedQueue<>());
                ConcurrentLinkedQueue<Double> secs = new ConcurrentLinkedQueue<>();
                double elapsed = load(drpc, callers, calls, secs);
                String all = secs.stream().map(String::valueOf).collect(Collectors.joining(","));
                System.out.println("{\"callers\":" + callers + ",\"elapsed\":" + elapsed + ",\"secs\":["
                        + all + "]}");
            }
        }
        System.exit(0);
    }
}
