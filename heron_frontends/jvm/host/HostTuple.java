package heronpy.host;

import java.util.List;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.tuple.TupleImpl;

/**
 * A tuple with the key by which Python knows it; 0 for a tick.
 *
 * Python's whole numbers have one type, and arrive as Long: the accessors of narrower types convert
 * what fits, where Storm's would cast.
 */
final class HostTuple extends TupleImpl {
    final long key;
    boolean isSettled;

    HostTuple(
            GeneralTopologyContext context, List<Object> values, String component, int task,
            String stream, long key) {
        super(context, values, component, task, stream);
        this.key = key;
    }

    private Number number(int index) {
        return (Number) getValue(index);
    }

    private static long fitting(Number value, long least, long most) {
        long whole = value.longValue();
        boolean isWhole = !(value instanceof Double) || value.doubleValue() == whole;
        if (!isWhole || whole < least || whole > most || value instanceof java.math.BigInteger) {
            throw new ClassCastException(value + " is not within " + least + " and " + most);
        }
        return whole;
    }

    @Override
    public Integer getInteger(int index) {
        Number value = number(index);
        return value == null ? null : (int) fitting(value, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    @Override
    public Long getLong(int index) {
        Number value = number(index);
        return value == null ? null : (Long) fitting(value, Long.MIN_VALUE, Long.MAX_VALUE);
    }

    @Override
    public Short getShort(int index) {
        Number value = number(index);
        return value == null ? null : (short) fitting(value, Short.MIN_VALUE, Short.MAX_VALUE);
    }

    @Override
    public Byte getByte(int index) {
        Number value = number(index);
        return value == null ? null : (byte) fitting(value, Byte.MIN_VALUE, Byte.MAX_VALUE);
    }

    @Override
    public Double getDouble(int index) {
        Number value = number(index);
        return value == null ? null : (Double) value.doubleValue();
    }

    @Override
    public Float getFloat(int index) {
        Number value = number(index);
        return value == null ? null : (Float) value.floatValue();
    }

    @Override
    public Integer getIntegerByField(String field) {
        return getInteger(fieldIndex(field));
    }

    @Override
    public Long getLongByField(String field) {
        return getLong(fieldIndex(field));
    }

    @Override
    public Short getShortByField(String field) {
        return getShort(fieldIndex(field));
    }

    @Override
    public Byte getByteByField(String field) {
        return getByte(fieldIndex(field));
    }

    @Override
    public Double getDoubleByField(String field) {
        return getDouble(fieldIndex(field));
    }

    @Override
    public Float getFloatByField(String field) {
        return getFloat(fieldIndex(field));
    }

    /** Tuples are told apart by what they are, not by what they say. */
    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }
}
