package heronpy.host;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads msgpack: Long, BigInteger, Double, Boolean, String, byte[], List, Map and null. */
final class Unpacker {
    private static final BigInteger TWO_TO_64 = BigInteger.ONE.shiftLeft(64);

    private final ByteBuffer data;

    Unpacker(byte[] bytes) {
        data = ByteBuffer.wrap(bytes);
    }

    Object value() {
        int head = data.get() & 0xff;
        if (head < 0x80) {
            return (long) head;
        } else if (head < 0x90) {
            return map(head & 0x0f);
        } else if (head < 0xa0) {
            return list(head & 0x0f);
        } else if (head < 0xc0) {
            return text(head & 0x1f);
        } else if (head >= 0xe0) {
            return (long) (byte) head;
        }
        return other(head);
    }

    private Object other(int head) {
        switch (head) {
            case 0xc0: return null;
            case 0xc2: return false;
            case 0xc3: return true;
            case 0xc4: return binary(data.get() & 0xff);
            case 0xc5: return binary(data.getShort() & 0xffff);
            case 0xc6: return binary(data.getInt());
            case 0xca: return (double) data.getFloat();
            case 0xcb: return data.getDouble();
            case 0xcc: return (long) (data.get() & 0xff);
            case 0xcd: return (long) (data.getShort() & 0xffff);
            case 0xce: return data.getInt() & 0xffffffffL;
            case 0xcf: return unsigned(data.getLong());
            case 0xd0: return (long) data.get();
            case 0xd1: return (long) data.getShort();
            case 0xd2: return (long) data.getInt();
            case 0xd3: return data.getLong();
            case 0xd9: return text(data.get() & 0xff);
            case 0xda: return text(data.getShort() & 0xffff);
            case 0xdb: return text(data.getInt());
            case 0xdc: return list(data.getShort() & 0xffff);
            case 0xdd: return list(data.getInt());
            case 0xde: return map(data.getShort() & 0xffff);
            case 0xdf: return map(data.getInt());
            default: return extension(head);
        }
    }

    private Object extension(int head) {
        int size;
        switch (head) {
            case 0xc7: size = data.get() & 0xff; break;
            case 0xc8: size = data.getShort() & 0xffff; break;
            case 0xc9: size = data.getInt(); break;
            case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: size = 1 << (head - 0xd4); break;
            default: throw new IllegalStateException("byte " + head + " is not of msgpack");
        }
        int kind = data.get();
        if (kind != Packer.BIG_INTEGER) {
            throw new IllegalStateException("extension " + kind + " is not known");
        }
        return new BigInteger(binary(size));
    }

    private static Object unsigned(long value) {
        return value >= 0 ? (Object) value : (Object) BigInteger.valueOf(value).add(TWO_TO_64);
    }

    private byte[] binary(int size) {
        byte[] found = new byte[size];
        data.get(found);
        return found;
    }

    private String text(int size) {
        String found = new String(data.array(), data.position(), size, StandardCharsets.UTF_8);
        data.position(data.position() + size);
        return found;
    }

    private List<Object> list(int count) {
        List<Object> found = new ArrayList<>(count);
        for (int index = 0; index < count; index++) {
            found.add(value());
        }
        return found;
    }

    private Map<Object, Object> map(int count) {
        Map<Object, Object> found = new LinkedHashMap<>();
        for (int index = 0; index < count; index++) {
            Object key = value();
            found.put(key, value());
        }
        return found;
    }
}
