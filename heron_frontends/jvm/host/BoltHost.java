package heronpy.host;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.tuple.Tuple;

/** Runs a bolt over the batches that Python sends. */
final class BoltHost extends Host implements IOutputCollector {
    private final IRichBolt bolt;
    private final Thread owner = Thread.currentThread();
    private final Narrowing narrowing;
    private final boolean isExact;
    private HostTuple current;
    private boolean hasReset;

    BoltHost(Wire wire, Map<?, ?> spec, IRichBolt bolt) {
        super(wire, spec, bolt);
        this.bolt = bolt;
        this.isExact = (Boolean) spec.get("exact");
        this.narrowing = new Narrowing((Map<?, ?>) spec.get("types"));
    }

    @Override
    void open() throws Exception {
        bolt.prepare(config, context, new OutputCollector(this));
        if (bolt instanceof StatefulBolt) {
            byte[] saved = (byte[]) spec.get("state");
            if (saved != null) {
                ((StatefulBolt<?>) bolt).restore(saved);
            }
            ((StatefulBolt<?>) bolt).initState();
        }
    }

    @Override
    void handle(List<?> command) throws Exception {
        if (command.get(0).equals("save")) {
            output.settle();
            save((Long) command.get(1));
            return;
        }
        output.begin();
        long key = (Long) command.get(1);
        for (Object each : (List<?>) command.get(2)) {
            List<?> run = (List<?>) each;
            String component = (String) run.get(0);
            int task = HostContext.number(run.get(1));
            String stream = (String) run.get(2);
            boolean isTick = component.equals(HostContext.SYSTEM);
            for (Object values : (List<?>) run.get(3)) {
                execute(row(values), component, task, stream, isTick ? 0 : key);
                output.reached(key);
                key++;
            }
        }
        if (!wire.hasMore()) {
            output.settle();
        }
    }

    /** Python waits for one of the two answers. */
    private void save(long number) {
        try {
            wire.send("saved", ((StatefulBolt<?>) bolt).saved(number), null);
        } catch (Exception error) {
            report("the state", error);
            wire.send("saved", null, Refusal.of(error));
        }
    }

    @SuppressWarnings("unchecked")
    private static List<Object> row(Object values) {
        return (List<Object>) values;
    }

    private void execute(
            List<Object> values, String component, int task, String stream, long key) {
        HostTuple tuple = new HostTuple(context, values, component, task, stream, key);
        current = tuple;
        try {
            narrowing.apply(tuple, values);
            bolt.execute(tuple);
        } catch (Exception error) {
            report("execute", error);
            if (!tuple.isSettled) {
                output.fail(tuple);
            }
        } catch (Error error) {
            end("execute", error);
        } finally {
            current = null;
        }
    }

    @Override
    void close() {
        bolt.cleanup();
    }

    // --- what the bolt calls ---------------------------------------------------------------------

    /** Where checkpoints are taken, a tuple without anchors came of the one that is executed. */
    private Collection<Tuple> origin(Collection<Tuple> anchors) {
        if (anchors != null && !anchors.isEmpty()) {
            return anchors;
        }
        boolean isOwn = isExact && Thread.currentThread() == owner;
        HostTuple tuple = isOwn ? current : null;
        return tuple == null || tuple.isSettled ? Collections.emptyList() : List.of(tuple);
    }

    @Override
    public List<Integer> emit(String stream, Collection<Tuple> anchors, List<Object> values) {
        return output.emit(stream, origin(anchors), null, values, null);
    }

    @Override
    public void emitDirect(
            int task, String stream, Collection<Tuple> anchors, List<Object> values) {
        output.emit(stream, origin(anchors), null, values, task);
    }

    @Override
    public void ack(Tuple tuple) {
        output.ack((HostTuple) tuple);
    }

    @Override
    public void fail(Tuple tuple) {
        output.fail((HostTuple) tuple);
    }

    @Override
    public void resetTimeout(Tuple tuple) {
        if (!hasReset) {
            hasReset = true;
            report("resetTimeout", new UnsupportedOperationException(
                "has no effect: raise topology.message.timeout.secs (said once)"));
        }
    }

    @Override
    public void flush() {
    }

    @Override
    public void reportError(Throwable error) {
        report("reportError", error);
    }
}
