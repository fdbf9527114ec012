package heronpy.host;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.spout.ISpout;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.topology.IComponent;

/** Runs a spout in turns: outcomes of its tuples first, then nextTuple until enough is emitted. */
final class SpoutHost extends Host implements ISpoutOutputCollector {
    private static final long TURN_NANOS = 5_000_000;
    private static final int FAILED_MAX = 100_000;

    private final ISpout spout;
    private final Method isFinished;
    private final Map<Long, Pending> ids = new HashMap<>();
    private final Map<Object, Long> keys = new HashMap<>();
    private final Map<Object, Long> failed = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Long> eldest) {
            return size() > FAILED_MAX;
        }
    };
    private long lastKey;

    SpoutHost(Wire wire, Map<?, ?> spec, ISpout spout) {
        super(wire, spec, (IComponent) spout);
        this.spout = spout;
        this.isFinished = finished(spout.getClass());
    }

    /** An id, and how many tuples have it that are neither acked nor failed. */
    private static final class Pending {
        final Object id;
        int tuples;

        Pending(Object id) {
            this.id = id;
        }
    }

    /** A spout with a public `boolean isFinished()` says by it that it has nothing more to emit. */
    private static Method finished(Class<?> kind) {
        try {
            Method found = kind.getMethod("isFinished");
            found.setAccessible(true);
            return found.getReturnType() == boolean.class ? found : null;
        } catch (NoSuchMethodException | RuntimeException error) {
            return null;
        }
    }

    @Override
    void open() {
        spout.open(config, context, new SpoutOutputCollector(this));
    }

    @Override
    void handle(List<?> command) throws Exception {
        if (command.get(0).equals("activate")) {
            spout.activate();
        } else if (command.get(0).equals("deactivate")) {
            spout.deactivate();
        } else {
            turn(((Number) command.get(1)).longValue(), (List<?>) command.get(2),
                (List<?>) command.get(3));
        }
    }

    private void turn(long budget, List<?> acked, List<?> failedKeys) {
        boolean isIdle = true;
        boolean hasEnded = false;
        output.begin();
        try {
            acked.forEach(key -> acked((Long) key));
            failedKeys.forEach(key -> failed((Long) key));
            isIdle = emitted(budget);
            hasEnded = isIdle && isFinished != null && (Boolean) isFinished.invoke(spout);
        } catch (Exception error) {
            report("nextTuple", error);
        } catch (Error error) {
            end("nextTuple", error);
        } finally {
            output.sendTurn(isIdle, hasEnded);
        }
    }

    /** Whether the last call emitted nothing. */
    private boolean emitted(long budget) {
        long until = System.nanoTime() + TURN_NANOS;
        long emitted = 0;
        while (emitted < budget) {
            long before = emissions;
            spout.nextTuple();
            if (emissions == before) {
                return true;
            }
            emitted += emissions - before;
            if (System.nanoTime() > until) {
                return false;
            }
        }
        return false;
    }

    private long emissions;

    private void acked(long key) {
        Object id = settled(key);
        if (id != null) {
            failed.remove(id);
            spout.ack(id);
        }
    }

    private void failed(long key) {
        Object id = settled(key);
        if (id != null) {
            failed.put(id, key);
            spout.fail(id);
        }
    }

    /** The id of a key, which is forgotten with the last tuple that has it. */
    private Object settled(long key) {
        Pending pending = ids.get(key);
        if (pending == null) {
            return null;
        }
        pending.tuples--;
        if (pending.tuples == 0) {
            ids.remove(key);
            keys.remove(pending.id);
        }
        return pending.id;
    }

    @Override
    void close() {
        spout.close();
    }

    // --- what the spout calls --------------------------------------------------------------------

    /** Equal ids have one key, so that Python knows a replay for what it is. */
    private Long key(Object id) {
        if (id == null) {
            return null;
        }
        Long known = keys.get(id);
        if (known == null) {
            known = failed.get(id);
        }
        long key = known == null ? ++lastKey : known;
        keys.put(id, key);
        ids.computeIfAbsent(key, ignored -> new Pending(id)).tuples++;
        return key;
    }

    private List<Integer> sent(String stream, List<Object> values, Object id, Integer task) {
        Long key = key(id);
        try {
            List<Integer> tasks = output.emit(stream, null, key, values, task);
            emissions++;
            return tasks;
        } catch (RuntimeException error) {
            if (key != null) {
                settled(key);
            }
            throw error;
        }
    }

    @Override
    public synchronized List<Integer> emit(String stream, List<Object> values, Object id) {
        return sent(stream, values, id, null);
    }

    @Override
    public synchronized void emitDirect(
            int task, String stream, List<Object> values, Object id) {
        sent(stream, values, id, task);
    }

    @Override
    public synchronized long getPendingCount() {
        return ids.size();
    }

    @Override
    public void flush() {
    }

    @Override
    public void reportError(Throwable error) {
        report("reportError", error);
    }
}
