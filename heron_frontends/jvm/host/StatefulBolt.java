package heronpy.host;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.state.State;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.IStatefulBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Tuple;

/**
 * A bolt with a KeyValueState, which is in memory here and in a checkpoint of the topology with the
 * rest of the Python half's state: as Java serialises its keys and values.
 */
final class StatefulBolt<T extends State> implements IRichBolt {
    private final IStatefulBolt<T> bolt;
    private final Entries entries = new Entries();

    StatefulBolt(IStatefulBolt<T> bolt) {
        this.bolt = bolt;
    }

    /** What a checkpoint has of it; the bolt's own preparations come before. */
    byte[] saved(long number) throws IOException {
        bolt.prePrepare(number);
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        try (ObjectOutputStream stream = new ObjectOutputStream(found)) {
            stream.writeObject(entries.values);
        }
        bolt.preCommit(number);
        return found.toByteArray();
    }

    /** Before `initState`: what the checkpoint had. */
    @SuppressWarnings("unchecked")
    void restore(byte[] saved) throws IOException, ClassNotFoundException {
        try (ObjectInputStream stream = new Reader(new ByteArrayInputStream(saved))) {
            entries.values.putAll((Map<Object, Object>) stream.readObject());
        }
    }

    @SuppressWarnings("unchecked")
    void initState() {
        bolt.initState((T) (State) entries);
    }

    @Override
    public void prepare(
            Map<String, Object> config, TopologyContext context, OutputCollector collector) {
        bolt.prepare(config, context, collector);
    }

    @Override
    public void execute(Tuple tuple) {
        bolt.execute(tuple);
    }

    @Override
    public void cleanup() {
        bolt.cleanup();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        bolt.declareOutputFields(declarer);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return bolt.getComponentConfiguration();
    }

    /** The user's classes are those of the class path. */
    private static final class Reader extends ObjectInputStream {
        Reader(ByteArrayInputStream saved) throws IOException {
            super(saved);
        }

        @Override
        protected Class<?> resolveClass(ObjectStreamClass described)
                throws IOException, ClassNotFoundException {
            try {
                return Class.forName(described.getName(), false, getClass().getClassLoader());
            } catch (ClassNotFoundException error) {
                return super.resolveClass(described);
            }
        }
    }

    /** Storm's interface over a map. */
    private static final class Entries implements KeyValueState<Object, Object> {
        private final HashMap<Object, Object> values = new HashMap<>();

        @Override
        public void put(Object key, Object value) {
            values.put(key, value);
        }

        @Override
        public Object get(Object key) {
            return values.get(key);
        }

        @Override
        public Object get(Object key, Object otherwise) {
            Object found = values.get(key);
            return found == null ? otherwise : found;
        }

        @Override
        public Object delete(Object key) {
            return values.remove(key);
        }

        @Override
        public Iterator<Map.Entry<Object, Object>> iterator() {
            return values.entrySet().iterator();
        }

        @Override
        public void prepareCommit(long number) {
        }

        @Override
        public void commit(long number) {
        }

        @Override
        public void commit() {
        }

        @Override
        public void rollback() {
        }
    }
}
