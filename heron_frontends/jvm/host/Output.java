package heronpy.host;

import java.util.AbstractList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.storm.tuple.Tuple;

/**
 * What user code has emitted, acked and failed and Python does not know yet, in that order.
 *
 * The thread of the component sends it behind each batch, and on the way if that takes long; what
 * other threads add while the component does nothing is sent at once.
 */
final class Output {
    private static final int BYTES_MAX = 1 << 16;
    private static final long LINGER_NANOS = 2_000_000;

    private final Wire wire;
    private final String component;
    private final Map<String, List<String>> streams;
    private final Packer events = new Packer();
    private final Thread owner = Thread.currentThread();
    private int count;
    private boolean isBusy;
    private long done;
    private long told;
    private long sentAt = System.nanoTime();

    Output(Wire wire, String component, Map<String, List<String>> streams) {
        this.wire = wire;
        this.component = component;
        this.streams = streams;
    }

    /** A tuple of a stream; `origin` says of what: anchors' keys or a spout's key. */
    synchronized List<Integer> emit(
            String stream, Collection<Tuple> anchors, Long key, List<Object> values, Integer task) {
        List<String> fields = streams.get(stream);
        if (fields == null) {
            throw new IllegalArgumentException(
                component + " emits on stream '" + stream + "', which it has not declared");
        }
        if (values.size() != fields.size()) {
            throw new IllegalArgumentException(
                component + "." + stream + ": " + values.size() + " values for the fields "
                + fields);
        }
        int mark = events.length();
        events.array(5);
        int flag = events.length();
        events.flag(false);
        events.text(stream);
        origin(anchors, key);
        int index = 0;
        try {
            events.array(values.size());
            for (Object value : values) {
                events.value(value);
                index++;
            }
        } catch (Unsayable error) {
            events.truncate(mark);
            throw new Unsayable(
                component + "." + stream + ": field '" + fields.get(index) + "' has "
                + error.getMessage() + ", which cannot cross to Python");
        }
        events.value(task);
        added();
        return new Tasks(flag, sentAt);
    }

    private void origin(Collection<Tuple> anchors, Long key) {
        if (anchors == null) {
            events.value(key);
            return;
        }
        int anchored = 0;
        for (Tuple anchor : anchors) {
            anchored += ((HostTuple) anchor).key > 0 ? 1 : 0;
        }
        events.array(anchored);
        for (Tuple anchor : anchors) {
            if (((HostTuple) anchor).key > 0) {
                events.whole(((HostTuple) anchor).key);
            }
        }
    }

    synchronized void ack(HostTuple tuple) {
        tuple.isSettled = true;
        if (tuple.key > 0) {
            events.whole(tuple.key);
            added();
        }
    }

    synchronized void fail(HostTuple tuple) {
        tuple.isSettled = true;
        if (tuple.key > 0) {
            events.whole(-tuple.key);
            added();
        }
    }

    private void added() {
        count++;
        if (!isBusy || events.length() > BYTES_MAX) {
            send();
        }
    }

    /** The component is at work: what it says waits for `settle`. */
    synchronized void begin() {
        isBusy = true;
    }

    /** The component has processed all up to this key; send if that is due. */
    synchronized void reached(long key) {
        done = key;
        if (System.nanoTime() - sentAt > LINGER_NANOS) {
            send();
        }
    }

    /** The component has nothing to do for now. */
    synchronized void settle() {
        isBusy = false;
        send();
    }

    /** The events of a spout's turn, which are sent with it. */
    synchronized void sendTurn(boolean isIdle, boolean isFinished) {
        Packer frame = new Packer();
        frame.array(4);
        frame.whole(Wire.TURN);
        frame.flag(isIdle);
        frame.flag(isFinished);
        take(frame);
        isBusy = false;
        sentAt = System.nanoTime();
        wire.send(frame);
    }

    synchronized int count() {
        return count;
    }

    private void send() {
        if (count > 0 || told < done) {
            Packer frame = new Packer();
            frame.array(3);
            frame.whole(Wire.BATCH);
            frame.whole(done);
            told = done;
            take(frame);
            wire.send(frame);
        }
        sentAt = System.nanoTime();
    }

    private void take(Packer frame) {
        frame.array(count);
        frame.raw(events.bytes(), events.length());
        events.truncate(0);
        count = 0;
    }

    /** The tasks that a tuple goes to: asked for only if user code looks, as a look is a round. */
    private final class Tasks extends AbstractList<Integer> {
        private final int flag;
        private final long before;
        private List<?> found;

        Tasks(int flag, long before) {
            this.flag = flag;
            this.before = before;
        }

        private List<?> found() {
            if (found != null) {
                return found;
            }
            synchronized (Output.this) {
                if (before != sentAt || Thread.currentThread() != owner) {
                    throw new IllegalStateException(
                        component + ": the tasks of an emit are known right behind it only, and"
                        + " only to the component's own thread");
                }
                events.bytes()[flag] = (byte) 0xc3;
                send();
            }
            try {
                found = (List<?>) wire.answer().get(1);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            return found;
        }

        @Override
        public Integer get(int index) {
            return ((Number) found().get(index)).intValue();
        }

        @Override
        public int size() {
            return found().size();
        }
    }
}
