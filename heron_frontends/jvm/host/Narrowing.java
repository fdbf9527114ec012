package heronpy.host;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Fields that a bolt reads as a narrower type than Long and Double, by its configuration. */
final class Narrowing {
    private final Map<String, String> types = new HashMap<>();

    Narrowing(Map<?, ?> types) {
        types.forEach((field, type) -> this.types.put((String) field, (String) type));
    }

    /** Changes the values behind a tuple; ClassCastException for one that does not fit. */
    void apply(HostTuple tuple, List<Object> values) {
        for (Map.Entry<String, String> each : types.entrySet()) {
            if (tuple.contains(each.getKey())) {
                int index = tuple.fieldIndex(each.getKey());
                values.set(index, narrowed(tuple, index, each.getValue()));
            }
        }
    }

    private static Object narrowed(HostTuple tuple, int index, String type) {
        switch (type) {
            case "int": return tuple.getInteger(index);
            case "short": return tuple.getShort(index);
            case "byte": return tuple.getByte(index);
            case "float": return tuple.getFloat(index);
            default: throw new IllegalArgumentException("type " + type);
        }
    }
}
