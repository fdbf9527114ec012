package heronpy.host;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;

/** Writes msgpack: the values that cross to Python, and nothing else. */
final class Packer {
    static final int BIG_INTEGER = 1;

    private static final BigInteger LONG_MIN = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);

    private byte[] bytes = new byte[1024];
    private int length;

    int length() {
        return length;
    }

    /** Forgets what was written since `length()` was this. */
    void truncate(int mark) {
        length = mark;
    }

    byte[] bytes() {
        return bytes;
    }

    /** Any value; Unsayable names the class of one that does not cross. */
    void value(Object value) {
        if (value == null) {
            nil();
        } else if (value instanceof String) {
            text((String) value);
        } else if (value instanceof Number) {
            number((Number) value);
        } else if (value instanceof Boolean) {
            put((Boolean) value ? 0xc3 : 0xc2);
        } else if (value instanceof byte[]) {
            binary((byte[]) value);
        } else if (value instanceof Collection) {
            collection((Collection<?>) value);
        } else if (value instanceof Map) {
            map((Map<?, ?>) value);
        } else {
            rare(value);
        }
    }

    private void rare(Object value) {
        if (value instanceof Character) {
            text(value.toString());
        } else if (value instanceof Object[]) {
            collection(Arrays.asList((Object[]) value));
        } else if (value.getClass().isArray()) {
            int count = java.lang.reflect.Array.getLength(value);
            array(count);
            for (int index = 0; index < count; index++) {
                value(java.lang.reflect.Array.get(value, index));
            }
        } else {
            throw new Unsayable("a value of class " + value.getClass().getName());
        }
    }

    private void number(Number value) {
        if (value instanceof Long || value instanceof Integer || value instanceof Short
                || value instanceof Byte) {
            whole(value.longValue());
        } else if (value instanceof Double || value instanceof Float) {
            put(0xcb);
            big(Double.doubleToRawLongBits(value.doubleValue()), 8);
        } else if (value instanceof BigInteger) {
            bigInteger((BigInteger) value);
        } else {
            throw new Unsayable("a value of class " + value.getClass().getName());
        }
    }

    private void bigInteger(BigInteger value) {
        if (value.compareTo(LONG_MIN) >= 0 && value.compareTo(LONG_MAX) <= 0) {
            whole(value.longValue());
            return;
        }
        byte[] data = value.toByteArray();
        put(0xc9);
        big(data.length, 4);
        put(BIG_INTEGER);
        raw(data, data.length);
    }

    private void collection(Collection<?> values) {
        array(values.size());
        for (Object each : values) {
            value(each);
        }
    }

    private void map(Map<?, ?> entries) {
        if (entries.size() < 16) {
            put(0x80 | entries.size());
        } else {
            put(0xdf);
            big(entries.size(), 4);
        }
        for (Map.Entry<?, ?> entry : entries.entrySet()) {
            value(entry.getKey());
            value(entry.getValue());
        }
    }

    void nil() {
        put(0xc0);
    }

    void flag(boolean value) {
        put(value ? 0xc3 : 0xc2);
    }

    void whole(long value) {
        if (value >= -32 && value < 128) {
            put((int) value);
        } else if (value == (int) value) {
            put(0xd2);
            big(value, 4);
        } else {
            put(0xd3);
            big(value, 8);
        }
    }

    void array(int count) {
        if (count < 16) {
            put(0x90 | count);
        } else {
            put(0xdd);
            big(count, 4);
        }
    }

    private void binary(byte[] data) {
        put(0xc6);
        big(data.length, 4);
        raw(data, data.length);
    }

    /** A text is short and ASCII most of the time, and needs no bytes of its own then. */
    void text(String value) {
        int count = value.length();
        if (count < 32) {
            reserve(count + 1);
            int start = length;
            bytes[length++] = (byte) (0xa0 | count);
            for (int index = 0; index < count; index++) {
                char letter = value.charAt(index);
                if (letter >= 0x80) {
                    length = start;
                    longText(value);
                    return;
                }
                bytes[length++] = (byte) letter;
            }
            return;
        }
        longText(value);
    }

    private void longText(String value) {
        // Half of a surrogate pair has no bytes, and would become a question mark.
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(value)) {
            throw new Unsayable("a text with half of a surrogate pair");
        }
        byte[] data = value.getBytes(StandardCharsets.UTF_8);
        put(0xdb);
        big(data.length, 4);
        raw(data, data.length);
    }

    void raw(byte[] data, int count) {
        reserve(count);
        System.arraycopy(data, 0, bytes, length, count);
        length += count;
    }

    private void put(int value) {
        reserve(1);
        bytes[length++] = (byte) value;
    }

    private void big(long value, int size) {
        reserve(size);
        for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
            bytes[length++] = (byte) (value >>> shift);
        }
    }

    private void reserve(int more) {
        if (length + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(length + more, 2 * bytes.length));
        }
    }
}
