package heronpy.host;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Counting;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricSet;
import com.codahale.metrics.Sampling;
import com.codahale.metrics.Snapshot;
import com.codahale.metrics.Timer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.Config;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.JavaObject;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.metric.api.CountMetric;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.metric.api.MultiCountMetric;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;

/** Storm's context of a task, made of what Python says of the topology, and its metrics. */
final class HostContext extends TopologyContext {
    static final String SYSTEM = "__system";
    static final String TICK = "__tick";
    private static final int SYSTEM_TASK = -1;

    private final Map<String, Metric> registered;
    private final Map<Integer, Map<Integer, Map<String, IMetric>>> byBucket;
    private final int task;
    private final Map<Integer, Long> due = new HashMap<>();
    private final Map<String, Long> told = new HashMap<>();

    private HostContext(
            Map<?, ?> spec, Map<String, Object> config, StormTopology topology,
            Map<Integer, String> tasks, Map<String, List<Integer>> ofComponents,
            Map<String, Map<String, Fields>> fields,
            Map<Integer, Map<Integer, Map<String, IMetric>>> byBucket, AtomicBoolean isOpen) {
        super(topology, config, tasks, ofComponents, fields, new HashMap<>(),
            (String) spec.get("topology"), (String) spec.get("folder"),
            (String) spec.get("folder"), number(spec.get("task")), 0,
            List.of(number(spec.get("task"))), new HashMap<>(), new HashMap<>(), new HashMap<>(),
            byBucket, isOpen, new StormMetricRegistry());
        this.task = number(spec.get("task"));
        this.byBucket = byBucket;
        this.registered = new ConcurrentHashMap<>();
    }

    static HostContext of(Map<?, ?> spec, Map<String, Object> config, AtomicBoolean isOpen) {
        Map<String, SpoutSpec> spouts = new HashMap<>();
        Map<String, Bolt> bolts = new HashMap<>();
        Map<String, Map<String, Fields>> fields = new HashMap<>();
        for (Object each : (List<?>) spec.get("components")) {
            Map<?, ?> one = (Map<?, ?>) each;
            String name = (String) one.get("name");
            ComponentCommon common = common(one, fields.computeIfAbsent(
                name, ignored -> new HashMap<>()));
            ComponentObject object = ComponentObject.serialized_java(new byte[0]);
            if ((Boolean) one.get("spout")) {
                spouts.put(name, new SpoutSpec(object, common));
            } else {
                bolts.put(name, new Bolt(object, common));
            }
        }
        fields.put(SYSTEM, Map.of(TICK, new Fields("rate_secs")));
        Map<Integer, String> tasks = new HashMap<>();
        Map<String, List<Integer>> ofComponents = new HashMap<>();
        for (Object each : (List<?>) spec.get("tasks")) {
            List<?> pair = (List<?>) each;
            tasks.put(number(pair.get(0)), (String) pair.get(1));
            ofComponents.computeIfAbsent((String) pair.get(1), ignored -> new ArrayList<>())
                .add(number(pair.get(0)));
        }
        tasks.put(SYSTEM_TASK, SYSTEM);
        ofComponents.put(SYSTEM, List.of(SYSTEM_TASK));
        return new HostContext(spec, config, new StormTopology(spouts, bolts, new HashMap<>()),
            tasks, ofComponents, fields, new HashMap<>(), isOpen);
    }

    private static ComponentCommon common(Map<?, ?> component, Map<String, Fields> fields) {
        Map<String, StreamInfo> streams = new HashMap<>();
        for (Object each : (List<?>) component.get("streams")) {
            List<?> stream = (List<?>) each;
            List<String> names = texts(stream.get(1));
            streams.put((String) stream.get(0), new StreamInfo(names, (Boolean) stream.get(2)));
            fields.put((String) stream.get(0), new Fields(names));
        }
        Map<GlobalStreamId, Grouping> inputs = new HashMap<>();
        for (Object each : (List<?>) component.get("inputs")) {
            List<?> input = (List<?>) each;
            inputs.put(new GlobalStreamId((String) input.get(0), (String) input.get(1)),
                grouping((String) input.get(2), texts(input.get(3))));
        }
        ComponentCommon common = new ComponentCommon(inputs, streams);
        common.set_parallelism_hint(number(component.get("parallelism")));
        common.set_json_conf("{}");
        return common;
    }

    private static Grouping grouping(String kind, List<String> fields) {
        switch (kind) {
            case "FIELDS": return Grouping.fields(fields);
            case "GLOBAL": return Grouping.fields(Collections.emptyList());
            case "ALL": return Grouping.all(new NullStruct());
            case "NONE": return Grouping.none(new NullStruct());
            case "DIRECT": return Grouping.direct(new NullStruct());
            case "LOCAL_OR_SHUFFLE": return Grouping.local_or_shuffle(new NullStruct());
            case "SHUFFLE": return Grouping.shuffle(new NullStruct());
            default: return Grouping.custom_object(new JavaObject(kind, new ArrayList<>()));
        }
    }

    static int number(Object value) {
        return ((Number) value).intValue();
    }

    private static List<String> texts(Object values) {
        List<String> found = new ArrayList<>();
        for (Object each : (List<?>) values) {
            found.add((String) each);
        }
        return found;
    }

    // --- metrics ---------------------------------------------------------------------------------

    private <M extends Metric> M kept(String name, M metric) {
        registered.put(name, metric);
        return metric;
    }

    @Override
    public Timer registerTimer(String name) {
        return kept(name, super.registerTimer(name));
    }

    @Override
    public Histogram registerHistogram(String name) {
        return kept(name, super.registerHistogram(name));
    }

    @Override
    public Meter registerMeter(String name) {
        return kept(name, super.registerMeter(name));
    }

    @Override
    public Counter registerCounter(String name) {
        return kept(name, super.registerCounter(name));
    }

    @Override
    public <T> Gauge<T> registerGauge(String name, Gauge<T> gauge) {
        return kept(name, super.registerGauge(name, gauge));
    }

    @Override
    public void registerMetricSet(String prefix, MetricSet set) {
        super.registerMetricSet(prefix, set);
        set.getMetrics().forEach((name, metric) -> kept(prefix + "." + name, metric));
    }

    /** Those whose time has come: what was counted since the last time, and newest values. What
        does not cross is said as text. */
    void metrics(long now, Map<String, Object> counts, Map<String, Object> values) {
        for (Map.Entry<Integer, Map<Integer, Map<String, IMetric>>> each : byBucket.entrySet()) {
            long bucket = each.getKey();
            if (now >= due.getOrDefault(each.getKey(), 0L)) {
                due.put(each.getKey(), now + 1000 * bucket);
                each.getValue().getOrDefault(task, Map.of()).forEach((name, metric) -> {
                    boolean isCount = metric instanceof CountMetric
                        || metric instanceof MultiCountMetric;
                    (isCount ? counts : values).put(name, crossing(metric.getValueAndReset()));
                });
            }
        }
        registered.forEach((name, metric) -> {
            if (metric instanceof Counter || metric instanceof Meter) {
                long count = ((Counting) metric).getCount();
                Long before = told.put(name, count);
                counts.put(name, count - (before == null ? 0 : before));
            } else {
                values.put(name, crossing(read(metric)));
            }
        });
    }

    /** All buckets are due: the component ends. */
    void hurry() {
        due.clear();
    }

    private static Object read(Metric metric) {
        if (metric instanceof Gauge) {
            return ((Gauge<?>) metric).getValue();
        }
        Map<String, Object> found = new LinkedHashMap<>();
        if (metric instanceof Counting) {
            found.put("count", ((Counting) metric).getCount());
        }
        if (metric instanceof Sampling) {
            Snapshot snapshot = ((Sampling) metric).getSnapshot();
            found.put("mean", snapshot.getMean());
            found.put("p99", snapshot.get99thPercentile());
            found.put("max", snapshot.getMax());
        }
        return found;
    }

    private static Object crossing(Object value) {
        try {
            new Packer().value(value);
            return value;
        } catch (Unsayable error) {
            return String.valueOf(value);
        }
    }
}
